"""The claim waits: its class, size or capacity.

## What is wrong
The claim names no class that exists, no volume fits it, or its driver could not make one.

## Fix
What the claim's events say.

## Source
https://kubernetes.io/docs/concepts/storage/persistent-volumes/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.unschedulable import unschedulable
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair


@cause("storage.pvc_not_bound", also=True)
def pvc_not_bound(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the controller's word, or on pods that wait for an unbound claim."""
    seen = events.of("storage.class_missing", "storage.provisioning_failed")
    waits = [
        u
        for u in unschedulable(events)
        if u.count("unbound immediate PersistentVolumeClaims") or u.count("persistentvolumeclaim", "not found")
    ]
    named = re.search(
        r"unbound immediate PersistentVolumeClaims|persistentvolumeclaim \S+ not found",
        " ".join(e.text for e in events.of("k8s.unschedulable")),
    )
    untold = not waits and not named and not seen.of("storage.class_missing")
    pending = [c for c in objects.of("PersistentVolumeClaim") if c.get("status.phase") == "Pending"]
    if seen or waits or named:
        wanted = next(iter(seen.values("class")), "")
        yield diagnosis(
            "storage.pvc_not_bound",
            f"The claim is not bound{f': the class {wanted} does not exist' if wanted else ''}.",
            seen,
            Events(tuple(u.event for u in waits)) or (events.of("k8s.unschedulable") if named else None),
            [c.cite("status.phase") for c in pending],
            [c.cite("spec.storageClassName") for c in pending if c.get("spec.storageClassName")],
            [s.cite("metadata.name") for s in objects.of("StorageClass")],
            repair=Repair.CHANGE_STORAGE,
            subjects=[c.subject for c in pending],
            commands=("kubectl describe pvc; kubectl get storageclass",),
            certainty=Certainty.HYPOTHESIS if untold else None,
            next_observation="Why the driver could not make the volume: the claim's whole event, its controller's log."
            if untold
            else "",
        )
