"""Nodes of one job are in different availability zones, and EFA does not cross them.

## What is wrong
EFA traffic stays within one zone and VPC. Ranks in two zones never reach each other over it.

## Fix
One subnet (and one placement group or capacity block) for all nodes of the job.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.nodes import count_of, type_of
from gonogo.causes.proof import diagnosis
from gonogo.data.instances import instance_type
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("network.subnets_in_different_zones", also=True)
def subnets_in_different_zones(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where EFA nodes stand in two zones and EFA, or a collective, failed."""
    failed = events.of("efa.unresponsive_receiver", "ofi.peer_unreachable", "c10d.watchdog_timeout")
    on_efa = [p for p in events.of("ofi.provider").values("provider") if p.startswith("efa")]
    on_efa += list(failed.of("ofi.peer_unreachable").files)
    zones: dict[str, Object] = {}
    for n in objects.of("Node"):
        zone = n.get(("metadata", "labels", "topology.kubernetes.io/zone"))
        known = instance_type(type_of(n))
        plain = not type_of(n) and not n.dict("status.allocatable")  # a table that shows names and zones alone
        if zone and (count_of(n, "vpc.amazonaws.com/efa") or (known and known.efa) or plain):
            zones.setdefault(str(zone), n)
    placed = {
        str(zone): o.cite(("Instances", i, "Placement", "AvailabilityZone"))
        for o in objects.of("Reservations")
        for i, x in enumerate(o.items("Instances"))
        if (zone := (x.get("Placement") or {}).get("AvailabilityZone"))
    }
    own_words = failed.of("efa.unresponsive_receiver", "ofi.peer_unreachable")
    if not zones and len(placed) > 1 and own_words:
        yield diagnosis(
            "network.subnets_in_different_zones",
            f"The instances stand in {len(placed)} zones ({', '.join(placed)}); EFA does not cross zones.",
            list(placed.values()),
            own_words,
            repair=Repair.CHANGE_CLUSTER,
            commands=("aws ec2 describe-instances --query 'Reservations[].Instances[].Placement.AvailabilityZone'",),
        )
    if failed and (on_efa or own_words) and len(zones) > 1:
        yield diagnosis(
            "network.subnets_in_different_zones",
            f"The EFA nodes stand in {len(zones)} zones ({', '.join(zones)}); EFA does not cross zones.",
            [n.cite(("metadata", "labels", "topology.kubernetes.io/zone")) for n in zones.values()],
            failed,
            events.of("ofi.provider"),
            repair=Repair.CHANGE_CLUSTER,
            subjects=[n.subject for n in zones.values()],
            commands=("kubectl get nodes -L topology.kubernetes.io/zone",),
        )
