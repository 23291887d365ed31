"""Another workload of higher priority took the place.

## What is wrong
The scheduler (or a queue) preempted a pod of the job for one of a higher priority class. The other ranks lost a peer.

## Fix
A higher, or non-preempting, priority class for training; nodes of its own.

## Source
https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("scheduling.evicted_by_priority", refines=("job.rank_died", "scheduling.insufficient_resources"), also=True)
def evicted_by_priority(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the scheduler's or the queue's word."""
    seen = Events(tuple(e for e in events.of("k8s.preempted")))
    pods = [
        (p, i)
        for p in objects.of("Pod")
        for i, c in enumerate(p.items("status.conditions"))
        if c.get("type") == "DisruptionTarget" and "Preemption" in str(c.get("reason"))
    ]
    if seen or pods:
        yield diagnosis(
            "scheduling.evicted_by_priority",
            f"{pods[0][0].name if pods else 'A pod of the job'} was preempted by a workload of higher priority.",
            seen,
            [p.cite(("status", "conditions", i, "reason")) for p, i in pods],
            waiting(events),
            repair=Repair.CHANGE_JOB,
            subjects=[p.subject for p, _ in pods],
            commands=(
                "kubectl get priorityclasses",
                "kubectl get pods -A -o custom-columns=N:.metadata.name,P:.spec.priority",
            ),
        )
