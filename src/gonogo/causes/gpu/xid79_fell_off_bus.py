"""A GPU left the PCI bus.

## What is wrong
The driver can't reach the GPU any more (Xid 79): hardware, power or heat. Every process on it dies; the other ranks
report timeouts some minutes later.

## Fix
Drain the node and replace it; a reboot may bring the GPU back, once.

## Source
https://docs.nvidia.com/deploy/xid-errors/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair, node


@cause("gpu.xid79_fell_off_bus", refines=("gpu.fewer_than_type", "gpu.driver_not_loaded"), also=True)
def xid79_fell_off_bus(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on Xid 79, or on the driver's words for it."""
    xid = events.of("gpu.xid").where(xid=79)
    words = events.of("gpu.off_bus")
    if xid or words:
        gpu = next((g for e in (*xid, *words) if (g := e.get("gpu"))), "")
        pods = [p for p in objects.of("Pod") if "lost" in str(p.get("status.message")) and p.get("spec.nodeName")]
        place = (
            str(pods[0].get("spec.nodeName")) if pods else next((e.who.host for e in (*xid, *words) if e.who.host), "")
        )
        yield diagnosis(
            "gpu.xid79_fell_off_bus",
            f"GPU {gpu or '(unnamed)'}{f' of {place}' if place else ''} fell off the bus.",
            xid,
            words,
            [p.cite("status.message") for p in pods],
            waiting(events),
            repair=Repair.REPLACE_NODE,
            subjects=[node(place)] if place else [],
            commands=(f"kubectl drain {place or '<node>'} --ignore-daemonsets --delete-emptydir-data",),
            next_observation="nvidia-smi -L on the node lists fewer GPUs than its type has.",
        )
