"""The subnet has free addresses, but no whole /28 left for a prefix.

## What is wrong
With prefix delegation the CNI asks for blocks of 16 addresses in a row. A fragmented subnet has none, though many
single addresses are free.

## Fix
A new subnet, or a CIDR reservation of type prefix, for the nodes.

## Source
https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("cni.prefix_delegation_no_contiguous_block", refines=("cni.subnet_exhausted", "cni.plugin_not_ready"), also=True)
def prefix_delegation_no_contiguous_block(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on EC2's word that no block is left; the subnet's count of free addresses supports it."""
    seen = events.of("cni.no_prefix")
    if seen:
        subnets = [s for s in objects.of("Subnets") if int(s.get("AvailableIpAddressCount", 0)) >= 16]
        free = f" though {subnets[0].get('AvailableIpAddressCount')} addresses are free" if subnets else ""
        yield diagnosis(
            "cni.prefix_delegation_no_contiguous_block",
            f"The subnet has no /28 left for a prefix{free}.",
            seen,
            [s.cite("AvailableIpAddressCount") for s in subnets],
            events.of("cni.no_address"),
            repair=Repair.CHANGE_NETWORK_CONFIG,
            commands=(
                "aws ec2 create-subnet-cidr-reservation --subnet-id <subnet> --cidr <free-cidr> "
                "--reservation-type prefix",
            ),
        )
