"""The network plug-in gives pods the MTU that the network carries.

## Why it matters
EC2 carries packets of 9001 bytes within a VPC. With 1500, each gigabyte takes six times as many packets, and a rank
over TCP spends its CPU on them. An MTU that isn't the plan's, or the peers', loses large packets without a word.

## Usual causes
- AWS_VPC_ENI_MTU or POD_MTU set for a VPN or a transit gateway, and forgotten
- nodes that are older than the change: an interface keeps the MTU that it was made with

## Fix
`kubectl -n kube-system set env daemonset aws-node AWS_VPC_ENI_MTU=9001`, or the add-on's configuration; then new nodes.

## Source
https://github.com/aws/amazon-vpc-cni-k8s/blob/master/README.md
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.kube_cni import AGENT, LARGEST_MTU_BYTES, Cni
from gonogo.kernel import Skip, check
from gonogo.model import CLUSTER, Finding, Status
from gonogo.plan import Plan


@check("CNI102")
def mtu(cni: Cni, plan: Plan) -> Iterator[Finding]:
    """Against the plan's, a fail; against what EC2 carries, a warning."""
    if not cni.is_there:
        raise Skip(f"The Amazon VPC CNI ({AGENT}) doesn't run here; whether nodes agree is NOD004's to tell.")
    bytes_, said = cni.mtu_bytes
    expected, source = (plan.fabric.mtu, "plan") if plan.fabric.mtu else (LARGEST_MTU_BYTES, "EC2")
    status = Status.OK if bytes_ == expected else Status.FAIL if plan.fabric.mtu else Status.WARN
    text = f"{AGENT} gives pods an MTU of {bytes_} bytes{f' ({said})' if said else ''}, {expected} expected."
    evidence = (cni.evidence(said or "AWS_VPC_ENI_MTU"),)
    yield Finding(status, CLUSTER, text, bytes_, expected, "bytes", source, evidence)
