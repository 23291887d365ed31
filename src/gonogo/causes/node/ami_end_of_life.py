"""The AMI family gets no more updates.

## What is wrong
EKS publishes no Amazon Linux 2 AMIs for newer Kubernetes versions; node groups of that AMI type are refused.

## Fix
amiType AL2023_x86_64_NVIDIA, in a new node group.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/eks-ami-deprecation-faqs.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("node.ami_end_of_life", refines=("eks.version_unsupported",), also=True)
def ami_end_of_life(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on EKS's refusal of an AMI type."""
    seen = events.of("eks.ami_refused")
    if seen:
        first = seen.first
        yield diagnosis(
            "node.ami_end_of_life",
            f"EKS has no {first.get('ami')} AMI for this Kubernetes: {first.get('error')}.",
            seen,
            [c.cite("version") for c in objects.of("cluster") if c.get("version")],
            repair=Repair.CHANGE_CLUSTER,
            commands=(
                "aws eks create-nodegroup --cluster-name <cluster> --nodegroup-name <name> --ami-type "
                "AL2023_x86_64_NVIDIA "
                "--node-role <node-role-arn> --subnets <subnet> --instance-types <instance-type>",
            ),
        )
