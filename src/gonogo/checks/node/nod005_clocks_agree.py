"""The clocks of all nodes agree.

## Why it matters
Training does not notice a clock that is off. Signed requests (AWS allows five minutes), certificates, checkpoints
chosen by their time, and everybody who compares logs of two nodes do.

## Usual causes
- no time service, or one that can't reach its source
- a virtual machine that was suspended, or restored from an image

## Fix
Let chrony use 169.254.169.123 on AWS; `chronyc makestep` sets the clock at once, `chronyc tracking` shows the offset.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/set-time.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.clocks import Clocks
from gonogo.kernel import check
from gonogo.model import Figure, Finding, Status

FAR_SECONDS = 60.0
"""A fifth of what AWS allows to signed requests."""

OFF_SECONDS = 1.0
"""A clock that follows any time service is nearer by far."""


@check("NOD005")
def clocks_agree(clocks: Clocks) -> Iterator[Finding | Figure]:
    """One finding a node, against the middle one of its peers, less what the measurement may be wrong by."""
    for subject, clock in clocks.present.items():
        offset = clock.typical
        far = offset.least_seconds
        way = "ahead of" if offset.seconds > 0 else "behind"
        yield Figure("clock_offset", offset.seconds, "seconds", subject, {"error_seconds": offset.error_seconds})
        yield Finding(
            Status.FAIL if far > FAR_SECONDS else Status.WARN if far > OFF_SECONDS else Status.OK,
            subject,
            f"{subject.name}'s clock is {abs(offset.seconds):.3f} s {way} most others', "
            f"give or take {offset.error_seconds:.3f} s.",
            measured=round(offset.seconds, 4),
            expected=OFF_SECONDS,
            unit="seconds",
            threshold_source="what any time service keeps",
            evidence=(offset.probe.record.evidence(_told(offset.probe.source, offset.probe.target, offset.seconds)),),
        )


def _told(source: str, target: str, seconds: float) -> str:
    return f"{source} and {target} compared their clocks: {abs(seconds):.3f} s apart"
