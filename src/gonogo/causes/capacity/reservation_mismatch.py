"""Zone, type, count or dates don't fit the reservation.

## What is wrong
A reservation holds one type in one zone for a time. A node group in another zone, of another type or size, or
before its start or after its end, gets nothing from it.

## Fix
The reservation's own zone and type in the node group; scale up only while it is active.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair, Subject


@cause(
    "capacity.reservation_mismatch",
    refines=("capacity.insufficient_instance_capacity", "scheduling.insufficient_resources"),
    also=True,
)
def reservation_mismatch(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a launch failed and the reservation isn't active, or is of another zone or type."""
    refused = events.of("capacity.reservation_refused")
    failed = Events((*refused, *events.of("capacity.insufficient", "node.interruption", "kubelet.not_joined")))
    for r in objects.of("CapacityReservations"):
        state, kind, zone = (str(r.get(k, "")) for k in ("State", "InstanceType", "AvailabilityZone"))
        why: tuple[str, str] | None = None
        subnets = {str(s.get("AvailabilityZone")): s for s in objects.of("Subnets")}
        launches = {
            z: a for a in objects.of("Activities") if refused and (z := _zone(a)) and a.get("StatusCode") == "Failed"
        }
        types = {str(t) for g in objects.of("nodegroup") for t in g.items("instanceTypes")}
        if state and state not in ("active", "pending", "assessing"):
            why = ("State", f"is {state}")
        elif subnets and zone and zone not in subnets:
            why = ("AvailabilityZone", f"is in {zone}, and the subnets are in {', '.join(subnets)}")
        elif launches and zone and zone not in launches:
            why = ("AvailabilityZone", f"is in {zone}, and instances were launched in {', '.join(launches)}")
        elif types and kind and kind not in types:
            why = ("InstanceType", f"holds {kind}, and the node group wants {', '.join(sorted(types))}")
        elif state == "pending" and failed:
            why = ("State", "is not active yet")
        elif refused and int(r.get("AvailableInstanceCount", 1)) == 0:
            why = ("AvailableInstanceCount", "has no instance left")
        if why and (failed or why[0] == "State"):
            yield diagnosis(
                "capacity.reservation_mismatch",
                f"Reservation {r.get('CapacityReservationId', '')} {why[1]}.",
                failed,
                [r.cite(why[0])],
                [a.cite("Details") for a in launches.values()] if why[0] == "AvailabilityZone" and not subnets else (),
                [s.cite("AvailabilityZone") for s in subnets.values()] if why[0] == "AvailabilityZone" else (),
                [r.cite("EndDate")] if r.get("EndDate") and why[0] == "State" else (),
                repair=Repair.CHANGE_CLUSTER,
                subjects=[Subject("aws", str(r.get("CapacityReservationId", "")))],
                commands=(
                    "aws ec2 describe-capacity-reservations --query "
                    "'CapacityReservations[].[CapacityReservationId,State,AvailabilityZone,InstanceType,AvailableInstanceCount]'",
                ),
            )
            return
    if refused:
        yield diagnosis(
            "capacity.reservation_mismatch",
            f"The reservation does not fit the launch: {refused.first.get('error')[:120]}.",
            refused,
            repair=Repair.CHANGE_CLUSTER,
            commands=("aws ec2 describe-capacity-reservations",),
        )


def _zone(activity: Object) -> str:
    """The zone in which a scaling group tried to launch, as the details of its activity tell."""
    found = re.search(r'Availability Zone\\?":\s*\\?"([\w-]+)', str(activity.get("Details", "")))
    return found[1] if found else ""
