"""The network plug-in gives pods another MTU than the plan's.

## What is wrong
AWS_VPC_ENI_MTU or POD_MTU of the Amazon VPC CNI differs from the MTU that the plan expects of the nodes.

## Fix
Set it to the plan's, and replace the nodes: interfaces keep the MTU that they were made with.

## Source
https://github.com/aws/amazon-vpc-cni-k8s/blob/master/README.md
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed
from gonogo.facts.kube_cni import AGENT, Cni
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("network.mtu_mismatch", also=True)
def mtu_mismatch_in_cluster(findings: Findings, cni: Cni) -> Iterator[Diagnosis]:
    """Only against a plan: without one, a smaller MTU is a warning and may be wanted."""
    for root in failed(findings, "CNI102"):
        name = cni.mtu_bytes[1] or "AWS_VPC_ENI_MTU"
        yield diagnose(
            "network.mtu_mismatch",
            [root],
            root.message,
            repair=Repair.CHANGE_NETWORK_CONFIG,
            commands=(f"kubectl -n kube-system set env daemonset {AGENT} {name}={root.expected}",),
            follows=[f.key for f in findings.failed("NOD004")],
        )
