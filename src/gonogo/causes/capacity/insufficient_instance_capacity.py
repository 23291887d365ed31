"""AWS has none of that type there now.

## What is wrong
On-demand capacity of large GPU types comes and goes by zone; some zones never have a type.

## Fix
Another zone or type, a capacity block, or an on-demand reservation.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html#troubleshooting-launch-capacity
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair

_IN_BLOCKS = re.compile(r"p[4-9]|trn")
"""Families that Capacity Blocks are sold of. https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html"""


@cause(
    "capacity.insufficient_instance_capacity",
    refines=("scheduling.insufficient_resources", "node.not_joined"),
    also=True,
)
def insufficient_instance_capacity(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on EC2's word."""
    seen = events.of("capacity.insufficient")
    unmade = events.of("capacity.placeholder")
    told = events.of("quota.vcpu", "quota.other", "capacity.reservation_refused", "job.finished")
    if unmade and not seen and not told:
        yield diagnosis(
            "capacity.insufficient_instance_capacity",
            "The scaling group does not make the instances that the cluster autoscaler asks for.",
            unmade,
            repair=Repair.ADD_CAPACITY,
            certainty=Certainty.HYPOTHESIS,
            next_observation="Why it does not: aws autoscaling describe-scaling-activities --auto-scaling-group-name "
            "<group>.",
            commands=("aws autoscaling describe-scaling-activities --auto-scaling-group-name <group> --max-items 5",),
        )
    if seen:
        first = seen.first
        kind = next(iter((*seen.values("type"), *seen.values("unoffered"))), "")
        zone = next(iter((*seen.values("zone"), *seen.values("nowhere"))), "")
        unoffered = first.get("unoffered")
        yield diagnosis(
            "capacity.insufficient_instance_capacity",
            f"EC2 does not offer {unoffered}{f' in {zone}' if zone else ''}."
            if unoffered
            else f"AWS has no {kind or 'instance of that type'} free{f' in {zone}' if zone else ''} now.",
            Events((first, *(e for e in seen if e is not first))),
            [g.cite("health.issues") for g in objects.of("nodegroup") if g.items("health.issues")],
            repair=Repair.ADD_CAPACITY,
            commands=(
                f"aws ec2 describe-capacity-block-offerings --instance-type {kind or '<instance-type>'} "
                "--instance-count <count> --capacity-duration-hours 24"
                if not unoffered and (not kind or _IN_BLOCKS.match(kind))
                else "aws ec2 describe-instance-type-offerings --location-type availability-zone "
                f"--filters Name=instance-type,Values={kind}",
            ),
        )
