"""The file system can't be written.

## What is wrong
It is mounted read-only: by the pod spec, or by the kernel after an error of the disk.

## Fix
readOnly off in the volume; after an error of the disk another volume.

## Source
https://kubernetes.io/docs/concepts/storage/volumes/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects, pod_specs
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("storage.read_only", refines=("pod.user_code_error",), also=True)
def read_only_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the kernel's word."""
    seen = events.of("storage.read_only")
    if seen:
        mounts = [
            o.cite((*s, "containers", i, "volumeMounts", j, "readOnly"))
            for o, s in pod_specs(objects)
            for i, c in enumerate(o.items((*s, "containers")))
            for j, m in enumerate(c.get("volumeMounts") or [])
            if m.get("readOnly")
        ]
        yield diagnosis(
            "storage.read_only",
            "What the job writes to is mounted read-only.",
            seen,
            mounts,
            repair=Repair.CHANGE_STORAGE,
            commands=("grep ' ro,' /proc/mounts  # in the pod; dmesg | grep -i remount  # on the node",),
        )
