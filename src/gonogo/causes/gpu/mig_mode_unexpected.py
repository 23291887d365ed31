"""MIG slices where whole GPUs are expected.

## What is wrong
The GPUs are partitioned: the node offers `nvidia.com/mig-…` instead of `nvidia.com/gpu`, or ranks get a slice, and NCCL
can't connect slices of one GPU.

## Fix
MIG off on training nodes: `nvidia-smi -mig 0`, then restart the device plugin.

## Source
https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.smi import smi_rows
from gonogo.facts.unschedulable import unschedulable
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_MODE = "mig.mode.current"


@cause(
    "gpu.mig_mode_unexpected",
    refines=(
        "scheduling.insufficient_resources",
        "gpu.device_plugin_missing",
        "nccl.duplicate_gpu",
        "gpu.fewer_than_type",
        "job.more_ranks_than_gpus",
    ),
    also=True,
)
def mig_mode_unexpected(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where pods want whole GPUs and nodes offer slices, or a GPU in MIG mode stands beside a failed job."""
    short = [u for u in unschedulable(events) if "nvidia.com/gpu" in u.insufficient]
    sliced = [
        (n, r)
        for n in objects.of("Node")
        for r, count in n.dict("status.allocatable").items()
        if str(r).startswith("nvidia.com/mig-") and str(count) not in ("0", "")
    ]
    enabled = [g for g in smi_rows(objects) if g.values.get(_MODE) == "Enabled"]
    slices = Events(tuple(e for e in events.of("gpu.listed") if "slice" in e.captures))
    ordinals = events.of("cuda.invalid_device_ordinal")
    failed = events.of("nccl.duplicate_gpu", "torch.nccl_error", "cuda.no_device", "nccl.cuda_failure")
    if (short and sliced) or ((enabled or slices) and (short or failed or ordinals)):
        yield diagnosis(
            "gpu.mig_mode_unexpected",
            f"{sliced[0][0].name} offers {sliced[0][1]} and no whole GPUs." if sliced else "A GPU is in MIG mode.",
            Events(tuple(u.event for u in short)),
            [n.cite(("status", "allocatable", r)) for n, r in sliced],
            [g.cite(_MODE) for g in enabled],
            slices,
            failed,
            ordinals,
            repair=Repair.CHANGE_CLUSTER,
            subjects=[n.subject for n, _ in sliced],
            commands=("nvidia-smi -mig 0  # on the node; then restart the device plugin",),
        )
