"""An SCP, a boundary or a policy denies the action.

## What is wrong
An explicit deny wins over every allow: of the organization (service control policy), of a permissions boundary, of an
endpoint's or a resource's policy.

## Fix
Whoever owns that policy must change it; adding permissions does nothing.

## Source
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("iam.explicit_deny", refines=("iam.missing_permission",), also=True)
def explicit_deny(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on IAM's own words."""
    decoded = events.of("iam.decoded")
    denied = decoded.where(deny="true")
    seen = Events(tuple(e for e in events.of("iam.not_authorized") if "explicit deny" in e.text))
    if seen or denied:
        first = seen.first if seen else denied.first
        action = next(iter((*seen.values("action"), *decoded.values("called"), *decoded.values("action"))), "The call")
        yield diagnosis(
            "iam.explicit_deny",
            f"{action} is denied by a {first.get('policy') or 'policy'}, explicitly.",
            seen,
            decoded,
            repair=Repair.CHANGE_PERMISSION,
            commands=(
                "aws organizations list-policies --filter SERVICE_CONTROL_POLICY  # with the management account",
            ),
        )
