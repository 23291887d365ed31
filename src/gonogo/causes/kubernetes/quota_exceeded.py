"""A ResourceQuota or LimitRange rejects the pods.

## What is wrong
The namespace's quota is used up (or the pods exceed the largest allowed), so the job's controller can't make them.

## Fix
A larger quota, fewer or smaller pods, or another namespace.

## Source
https://kubernetes.io/docs/concepts/policy/resource-quotas/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("kubernetes.quota_exceeded", refines=("kubernetes.rbac_forbidden",), also=True)
def quota_exceeded(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the admission's word."""
    seen = events.of("k8s.quota_exceeded")
    if seen:
        first = seen.first
        yield diagnosis(
            "kubernetes.quota_exceeded",
            _summary(first),
            seen,
            [q.cite("status.used" if q.get("status.used") else "spec.hard") for q in objects.of("ResourceQuota")],
            repair=Repair.CHANGE_CLUSTER,
            commands=("kubectl describe resourcequota",),
        )


def _summary(first: Event) -> str:
    if first.get("quota"):
        asked = f"asks for {first.get('requested')}, {first.get('used')} of {first.get('limited')} is used"
        return f"The namespace's quota {first.get('quota')} rejects the pods: {asked}."
    if first.get("failed"):
        return f"The namespace's quota {first.get('failed')} takes no pod that does not say its {first.get('unsaid')}."
    return f"The namespace's limits reject the pods: {first.get('limitrange')}."
