"""A job that runs and writes no more: read twice, no log grew, and never before was there such a pause."""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.silence import silence
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair, Subject


@cause("job.rank_stalled", also=True)
def rank_stalled_in_readings(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """A guess: that ranks hang is seen, at what is not."""
    found = silence(objects)
    if not found:
        return
    first, ahead = found.pods[0], found.ahead_seconds
    told = f"The job runs, and none of its {len(found.pods)} logs has grown for {found.seconds:.0f} s"
    before = f"; the longest pause before was {found.gap_seconds:.0f} s."
    yield diagnosis(
        "job.rank_stalled",
        told + before + (f" {first} fell silent {ahead:.0f} s before the others." if ahead else ""),
        found.evidence,
        waiting(events),
        repair=Repair.INSPECT,
        subjects=[Subject("pod", pod) for pod in (found.pods[:1] if ahead else found.pods)],
        commands=tuple(f"kubectl -n <namespace> exec {pod} -- py-spy dump --pid 1" for pod in found.pods[:3]),
        next_observation="In which call each rank is: the one that is in another call than all others holds them up.",
        certainty=Certainty.HYPOTHESIS,
    )
