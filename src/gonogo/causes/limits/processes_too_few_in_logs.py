"""No further process or thread may be started.

## What is wrong
The pod's limit of processes (podPidsLimit), or the user's, is reached: data loaders and BLAS threads count.

## Fix
Fewer workers and threads (OMP_NUM_THREADS), or a larger podPidsLimit.

## Source
https://kubernetes.io/docs/concepts/policy/pid-limiting/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("limits.processes_too_few", also=True)
def processes_too_few_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the kernel's word in a log."""
    seen = events.of("limits.processes")
    if seen:
        configs = [o for o in objects.of("kubeletconfig", "KubeletConfiguration") if o.get("podPidsLimit") is not None]
        yield diagnosis(
            "limits.processes_too_few",
            "The limit of processes and threads is reached.",
            seen,
            [o.cite("podPidsLimit") for o in configs],
            repair=Repair.CHANGE_CLUSTER,
            commands=("cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids.current  # in the pod",),
        )
