"""GPUDirect RDMA should carry the data, and doesn't.

## What is wrong
On p4d, p5 and later types the adapters read GPU memory directly. Channels without /GDRDMA copy through host memory
instead, at a fraction of the rate: the driver's peer memory module or dma-buf is missing, or a variable turns it off.

## Fix
Unset NCCL_NET_GDR_LEVEL and FI_EFA_USE_DEVICE_RDMA=0; load nvidia_peermem, or a driver and kernel with dma-buf.

## Source
https://github.com/aws/aws-ofi-nccl
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.nodes import type_of
from gonogo.causes.proof import diagnosis
from gonogo.data.instances import instance_type
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("efa.gdr_not_used", also=True)
def gdr_not_used(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where EFA carries the bytes of a type that needs GPUDirect RDMA, and no channel has it."""
    carried = Events(tuple(e for e in events.of("nccl.via") if "ibfabric" in e.get("network")))
    with_it = {e.file for e in carried if e.get("gdr")}
    carried = Events(tuple(e for e in carried if e.file not in with_it))
    if not carried:
        return
    types = [n for n in objects.of("Node") if (t := instance_type(type_of(n))) and t.gdr_required]
    by_api = [
        t for t in objects.of("InstanceTypes") if (k := instance_type(str(t.get("InstanceType")))) and k.gdr_required
    ]
    in_file = Events(tuple(e for e in events if e.file in carried.files))
    by_file = in_file.of("nccl.environment").where(value=re.compile(r"p(?:4d|4de|5|5e|5en|6)[-.]"))
    off = events.of("nccl.environment").where(name=re.compile("NET_GDR|DEVICE_RDMA"), value=re.compile("^(?:0|LOC)$"))
    named = Events(
        tuple(e for e in events.of("host.instance_type") if (t := instance_type(e.get("type"))) and t.gdr_required)
    )
    if not types and not by_file and not by_api and not named:
        return
    yield diagnosis(
        "efa.gdr_not_used",
        "EFA carries the data without GPUDirect RDMA, on a type that needs it.",
        carried,
        off,
        [n.cite(("metadata", "labels", "node.kubernetes.io/instance-type")) for n in types[:2]],
        [t.cite("InstanceType") for t in by_api],
        by_file,
        named,
        events.of("ofi.provider"),
        repair=Repair.CHANGE_JOB if off else Repair.CHANGE_IMAGE,
        commands=("lsmod | grep -e nvidia_peermem -e efa; cat /sys/class/infiniband/*/device/p2p  # on the node",),
        next_observation="NCCL's channel lines end in /GDRDMA.",
    )
