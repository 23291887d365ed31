"""/dev/shm is too small for NCCL or data loader workers.

## What is wrong
Containers get 64 MiB of /dev/shm. NCCL's transport inside a node and data loaders' workers keep their buffers there.

## Fix
An emptyDir with `medium: Memory` mounted at /dev/shm, its size within the pod's memory limit.

## Source
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects, Path, pod_specs
from gonogo.facts.space import shortage
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("pod.shm_too_small", refines=("job.rank_died", "storage.full"), also=True)
def shm_too_small_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where shared memory ran out; a large /dev/shm of the pod contradicts a bus error."""
    full = shortage(events).shared_memory
    bus = events.of("dataloader.bus_error")
    sizes = events.of("host.shm_size")
    signals = Events(
        (
            *events.of("torchrun.signal").where(name="SIGBUS"),
            *events.of("torchrun.child_exit", "torchrun.root_exit").where(exitcode=-7),
        )
    )
    small = Events(tuple(e for e in sizes if _mib(e.get("size")) <= 1024 or e.get("use") == "100"))
    if not bus and small and "100" in small.values("use"):
        bus = signals
    if (not full and not bus) or (not full and sizes and not small):
        return
    unmounted = [(o, s) for o, s in pod_specs(objects) if not _mounts(o, s)]
    if not full and not small and not unmounted and pod_specs_known(objects):
        return
    size = f" ({small.first.get('size')})" if small else ""
    yield diagnosis(
        "pod.shm_too_small",
        f"/dev/shm{size} is too small for what the job keeps there.",
        full,
        bus,
        small,
        [o.cite((*s, "volumes"), "no volume at /dev/shm") for o, s in unmounted],
        events.of("dataloader.worker_killed"),
        repair=Repair.CHANGE_JOB,
        subjects=[o.subject for o, _ in unmounted],
        commands=("kubectl exec <pod> -- df -h /dev/shm",),
    )


def _mounts(one: Object, spec: Path) -> bool:
    return any(
        str(m.get("mountPath", "")).rstrip("/") == "/dev/shm"
        for c in one.items((*spec, "containers"))
        for m in c.get("volumeMounts") or []
    )


def pod_specs_known(objects: Objects) -> bool:
    """Whether any pod spec is there to look at."""
    return any(True for _ in pod_specs(objects))


def _mib(size: str) -> float:
    number, unit = re.match(r"([\d.]+)([KMGT]?)", size).groups() if re.match(r"[\d.]", size) else ("0", "M")  # type: ignore[union-attr]
    return float(number) * {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1 << 20, "": 1 / 1024}[unit]
