"""Another service quota is reached.

## What is wrong
Addresses, volumes, file systems, interfaces, rules: each has a quota of its own.

## Fix
Ask for more, or remove what isn't used.

## Source
https://docs.aws.amazon.com/servicequotas/latest/userguide/intro.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("quota.other_limit", refines=("storage.pvc_not_bound", "node.not_joined"), also=True)
def other_limit(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on an API's word."""
    seen = events.of("quota.other")
    if seen:
        yield diagnosis(
            "quota.other_limit",
            f"A quota is reached: {seen.first.get('error')}.",
            seen,
            [q.cite("Value") for q in (*objects.of("Quota"), *objects.of("Quotas")) if q.get("Value") is not None],
            repair=Repair.REQUEST_QUOTA,
            commands=("aws service-quotas list-service-quotas --service-code <service>",),
        )
