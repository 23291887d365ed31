"""The launch template lost its reservation.

## What is wrong
It asks for a capacity block (or a targeted reservation) and names none, so EC2 refuses the launch.

## Fix
CapacityReservationTarget.CapacityReservationId in the template, in the block's zone.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects, Path
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_SPEC = "CapacityReservationSpecification"


@cause(
    "capacity.reservation_target_empty",
    refines=("capacity.insufficient_instance_capacity", "capacity.reservation_mismatch"),
    also=True,
)
def reservation_target_empty(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a template's market is capacity-block and its target has no id, or EC2 says so."""
    told = events.of("capacity.reservation_required")
    path = f"LaunchTemplateData.{_SPEC}.CapacityReservationTarget"
    empty = [
        t
        for t in objects.of("LaunchTemplateVersions")
        if t.get("LaunchTemplateData.InstanceMarketOptions.MarketType") == "capacity-block"
        and not t.dict(path).get("CapacityReservationId")
    ]
    unused = _unused(events, objects)
    if unused:
        yield _not_named(events, *unused)
    if not told and not empty:
        return
    blocks = [r for r in objects.of("CapacityReservations") if r.get("ReservationType") == "capacity-block"]
    meant = [
        (o, i)
        for o in objects.of("ClusterConfig")
        for i, g in enumerate(o.items("managedNodeGroups"))
        if g.get("capacityReservation")
    ]
    target: Path = ("capacityReservation", "capacityReservationTarget", "capacityReservationId")
    id = str(blocks[0].get("CapacityReservationId")) if blocks else "CR_ID"
    yield diagnosis(
        "capacity.reservation_target_empty",
        f"The launch template asks for a capacity block and names none{f' ({id} is there)' if blocks else ''}.",
        told,
        [t.cite(path) for t in empty],
        [r.cite("AvailableInstanceCount") for r in blocks],
        [o.cite(("managedNodeGroups", i, *target)) for o, i in meant],
        repair=Repair.CHANGE_CLUSTER,
        commands=(
            "aws ec2 create-launch-template-version --launch-template-id <launch-template> --source-version 1 "
            "--launch-template-data "
            f'\'{{"CapacityReservationSpecification":{{"CapacityReservationTarget":{{"CapacityReservationId":"{id}"}}}}}}\'',
        ),
    )


def _unused(events: Events, objects: Objects) -> tuple[Object, Object] | None:
    """A reservation that serves only launches that name it, free while a launch of its type finds nothing."""
    if not events.of("capacity.insufficient"):
        return None
    templates = _in_use(objects)
    for r in objects.of("CapacityReservations"):
        id, kind = str(r.get("CapacityReservationId", "")), r.get("InstanceType")
        is_free = r.get("State") == "active" and int(r.get("AvailableInstanceCount", 0)) > 0
        if not id or not is_free or r.get("InstanceMatchCriteria") != "targeted":
            continue
        same = [t for t in templates if t.get("LaunchTemplateData.InstanceType", kind) == kind]
        if same and not any("CapacityReservationTarget" in t.dict(f"LaunchTemplateData.{_SPEC}") for t in same):
            return r, same[0]
    return None


def _in_use(objects: Objects) -> list[Object]:
    """Of each launch template, the version that a scaling group names, else the default, else the newest."""
    named = {str(g.get("LaunchTemplate.Version", "")) for g in objects.of("AutoScalingGroups")}
    versions: dict[str, list[Object]] = {}
    for one in objects.of("LaunchTemplateVersions"):
        versions.setdefault(str(one.get("LaunchTemplateId", "")), []).append(one)
    chosen = []
    for some in versions.values():
        by_age = sorted(some, key=lambda v: int(v.get("VersionNumber", 0)))
        exact = [v for v in some if str(v.get("VersionNumber")) in named]
        default = [v for v in some if v.get("DefaultVersion") is True] if "$Latest" not in named else []
        chosen.append((exact or default or by_age[-1:])[0])
    return chosen


def _not_named(events: Events, reservation: Object, template: Object) -> Diagnosis:
    id = str(reservation.get("CapacityReservationId"))
    return diagnosis(
        "capacity.reservation_target_empty",
        f"{reservation.get('AvailableInstanceCount')} instances of reservation {id} are free, which serves only "
        "launches that name it, and the launch template does not.",
        [reservation.cite("InstanceMatchCriteria"), reservation.cite("AvailableInstanceCount")],
        [template.cite(f"LaunchTemplateData.{_SPEC}.CapacityReservationPreference")]
        if template.get(f"LaunchTemplateData.{_SPEC}")
        else [template.cite("VersionNumber")],
        events.of("capacity.insufficient"),
        repair=Repair.CHANGE_CLUSTER,
        commands=(
            f"aws ec2 create-launch-template-version --launch-template-id "
            ""
            f"{template.get('LaunchTemplateId', '<launch-template>')} --source-version "
            f"{template.get('VersionNumber', 1)} "
            "--launch-template-data "
            f'\'{{"{_SPEC}":{{"CapacityReservationTarget":{{"CapacityReservationId":"{id}"}}}}}}\'',
        ),
    )
