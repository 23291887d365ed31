"""The subnet has no free addresses left for pods.

## What is wrong
The VPC CNI gives every pod an address of the node's subnet. When that has none left, pods stay in ContainerCreating.

## What settles it
`AvailableIpAddressCount` of the subnet, and ipamd's log on the node.

## Fix
Larger or further subnets (a secondary CIDR with custom networking), prefix delegation, smaller warm pools.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/cni-increase-ip-addresses.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair, Subject


@cause("cni.subnet_exhausted", refines=("cni.plugin_not_ready",), also=True)
def subnet_exhausted(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the CNI's or EC2's word; a subnet that has addresses left contradicts it."""
    seen = events.of("cni.no_address")
    if not seen or events.of("cni.no_prefix"):
        return
    subnets = [s for s in objects.of("Subnets") if s.get("AvailableIpAddressCount") is not None]
    empty = [s for s in subnets if int(s.get("AvailableIpAddressCount")) < 8]
    told_by_api = any("InsufficientFreeAddresses" in e.text or "enough free addresses" in e.text for e in seen)
    if (subnets and not empty) or (not empty and not told_by_api):
        return
    name = str(empty[0].get("SubnetId", "the subnet")) if empty else "The subnet"
    yield diagnosis(
        "cni.subnet_exhausted",
        f"{name} has no free addresses left, so pods get none.",
        seen,
        [s.cite("AvailableIpAddressCount") for s in empty],
        repair=Repair.CHANGE_NETWORK_CONFIG,
        subjects=[Subject("aws", str(s.get("SubnetId", ""))) for s in empty],
        commands=(f"aws ec2 describe-subnets --subnet-ids {name} --query 'Subnets[].AvailableIpAddressCount'",),
    )
