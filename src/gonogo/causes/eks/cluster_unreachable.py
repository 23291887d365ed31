"""The cluster's endpoint can't be reached from here.

## What is wrong
Its endpoint is private, its public access is limited to other addresses, or VPN and DNS are missing.

## Fix
The VPN or a bastion, or this address in the public access CIDRs.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_TOOL = re.compile(r"(?:\[✖\]|^\W*Error: ).*https://[0-9A-F]+\.\w+\.[\w-]+\.eks\.amazonaws\.com")
"""A cluster's own endpoint in what eksctl and Terraform end with."""


@cause("eks.cluster_unreachable", refines=("kubernetes.api_unreachable",), also=True)
def cluster_unreachable(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where kubectl can't reach an EKS endpoint by timeout or name."""
    eks = any(".eks.amazonaws.com" in e.text for e in events.of("aws.api_unreachable")) or any(
        ".eks.amazonaws.com" in str(c.get("endpoint")) for c in objects.of("cluster")
    )
    seen = Events(
        tuple(
            e
            for e in events.of("k8s.api_unreachable")
            if (re.search(r"eks\.amazonaws\.com", e.text) or eks)
            and re.search(r"timeout|timed out|no such host|deadline", e.text)
        )
    )
    hidden = any(c.get("resourcesVpcConfig.endpointPublicAccess") is False for c in objects.of("cluster"))
    if not seen and hidden:
        told = events.of("k8s.api_unreachable")
        seen = Events(tuple(e for e in told if re.search(r"timeout|timed out|no such host", e.text)))
    seen = seen or Events(tuple(e for e in events.of("aws.api_unreachable") if _TOOL.search(e.text)))
    if seen:
        private = [c for c in objects.of("cluster") if c.get("resourcesVpcConfig.endpointPublicAccess") is False]
        limited = [
            c
            for c in objects.of("cluster")
            if c.items("resourcesVpcConfig.publicAccessCidrs")
            and "0.0.0.0/0" not in c.items("resourcesVpcConfig.publicAccessCidrs")
        ]
        yield diagnosis(
            "eks.cluster_unreachable",
            f"The cluster's endpoint can't be reached from here{': it is private' if private else ''}.",
            seen,
            [c.cite("resourcesVpcConfig.endpointPublicAccess") for c in private],
            [c.cite("resourcesVpcConfig.publicAccessCidrs") for c in limited],
            repair=Repair.CHANGE_NETWORK_CONFIG,
            explains=Events(tuple(e for e in events.of("aws.api_unreachable") if ".eks.amazonaws.com" in e.text)),
            commands=("aws eks describe-cluster --name <cluster> --query cluster.resourcesVpcConfig",),
        )
