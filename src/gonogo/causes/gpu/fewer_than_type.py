"""A node has fewer working GPUs than its type.

## What is wrong
A GPU is lost or unhealthy, so the node offers fewer than its type has, and pods that want all of them find no place.

## Fix
Replace the node.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/node-health.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.nodes import count_of, gpu_nodes, type_of
from gonogo.causes.proof import diagnosis
from gonogo.data.instances import instance_type
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.unschedulable import unschedulable
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair


@cause("gpu.fewer_than_type", refines=("scheduling.insufficient_resources",), also=True)
def fewer_than_type(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a node offers some GPUs, and fewer than its type has, beside pods that wait or failed."""
    hurt = unschedulable(events) or events.of("gpu.xid", "gpu.off_bus")
    for n in gpu_nodes(objects) if hurt or not events.of("job.finished") else ():
        known, offered = instance_type(type_of(n)), count_of(n, "nvidia.com/gpu")
        if known and offered and offered < known.accelerators and known.resource == "nvidia.com/gpu":
            yield diagnosis(
                "gpu.fewer_than_type",
                f"{n.name} offers {offered} GPUs, and {known.type} has {known.accelerators}.",
                [n.cite(("status", "allocatable", "nvidia.com/gpu"))],
                Events(tuple(u.event for u in unschedulable(events))),
                events.of("gpu.xid"),
                repair=Repair.REPLACE_NODE,
                subjects=[n.subject],
                certainty=None
                if unschedulable(events)
                or events.of("gpu.xid", "gpu.off_bus")
                or str(n.get(("status", "capacity", "nvidia.com/gpu"), offered)) != str(offered)
                else Certainty.HYPOTHESIS,
                commands=(f"kubectl drain {n.name} --ignore-daemonsets",),
            )
    yield from _fewer_listed(events)
    yield from _fewer_by_slurm(events)


def _fewer_by_slurm(events: Events) -> Iterator[Diagnosis]:
    """Slurm's controller counts fewer GPUs than its configuration says."""
    if fewer := events.of("slurm.fewer_gpus"):
        node, has, wants = (next(iter(fewer.values(name)), "") for name in ("node", "has", "wants"))
        yield diagnosis(
            "gpu.fewer_than_type",
            f"{node or 'A node'} has {f'{has} GPUs of {wants}' if has else 'fewer GPUs'} by Slurm's count.",
            fewer,
            events.of("gpu.xid"),
            repair=Repair.REPLACE_NODE,
            commands=("nvidia-smi -L; lspci | grep -ci nvidia  # on the node", "scontrol show node <node>"),
        )


def _fewer_listed(events: Events) -> Iterator[Diagnosis]:
    """`nvidia-smi -L` names fewer GPUs than the one type that is named has, and a rank or the kernel misses one."""
    types = [t for name in events.of("host.instance_type").values("type") if (t := instance_type(name))]
    missed = events.of("gpu.xid", "gpu.off_bus", "cuda.invalid_device_ordinal", "cuda.no_device")
    listed = events.of("gpu.listed")
    if len({t.type for t in types}) != 1 or not missed:
        return
    for file in listed.files:
        gpus = Events(tuple(e for e in listed if e.file == file and "index" in e.captures))
        if 0 < len(gpus) < types[0].accelerators and types[0].resource == "nvidia.com/gpu":
            yield diagnosis(
                "gpu.fewer_than_type",
                f"{len(gpus)} GPUs are listed, and {types[0].type} has {types[0].accelerators}.",
                gpus,
                missed,
                events.of("host.instance_type"),
                repair=Repair.REPLACE_NODE,
                commands=("nvidia-smi -L; lspci | grep -ci nvidia  # on the node",),
            )
            return
