"""Another workload preempted the pods.

## What is wrong
Pods of a higher priority needed the room; the scheduler evicted these.

## Fix
A priority class of one's own rank, or a queue that keeps gangs together.

## Source
https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair

REASONS = ("Preempted", "Preempting", "PreemptionByScheduler")


@cause("scheduling.evicted_by_priority", refines=("job.rank_died",))
def evicted_by_priority(findings: Findings) -> Iterator[Diagnosis]:
    """By the scheduler's own reason."""
    roots = [
        f for c in ("POD103", "POD104") for f in failed(findings, c, lambda f: any(r in f.message for r in REASONS))
    ]
    if roots:
        yield diagnose(
            "scheduling.evicted_by_priority",
            roots,
            f"{len(roots)} pods of the run were preempted by pods of a higher priority.",
            repair=Repair.CHANGE_JOB,
            commands=("kubectl get priorityclasses",),
        )
