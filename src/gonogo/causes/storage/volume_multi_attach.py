"""A volume for one node is wanted on several.

## What is wrong
ReadWriteOnce volumes (EBS) attach to one node. A second rank, or a pod whose old node died, can't have it.

## Fix
A shared file system (FSx for Lustre, EFS) for what ranks share.

## Source
https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("storage.volume_multi_attach", also=True)
def volume_multi_attach(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the attach controller's word."""
    seen = events.of("storage.multi_attach")
    if seen:
        yield diagnosis(
            "storage.volume_multi_attach",
            f"Volume {seen.first.get('volume') or ''} is attached to another node and can't be on two.",
            seen,
            [c.cite("spec.accessModes") for c in objects.of("PersistentVolumeClaim") if c.get("spec.accessModes")],
            events.of("storage.mount_failed"),
            repair=Repair.CHANGE_STORAGE,
            commands=("kubectl get volumeattachments",),
        )
