"""A node that can't pull since the registry is out of reach: by what the kubelet says, which does not say why."""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, follows
from gonogo.documents.kubernetes import PodsDocument
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Finding, Repair

OUT_OF_REACH, NO_NAME = "can't reach the registry", "registry's name does not resolve"
OF_AWS = ".amazonaws.com"


@cause("network.missing_vpc_endpoints", also=True)
def missing_vpc_endpoints(findings: Findings, workload: Workload, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """Fires where the registry is AWS's own and does not answer from the node."""
    return _out_of_reach(
        "network.missing_vpc_endpoints",
        [f for f in _stuck(findings, OUT_OF_REACH) if OF_AWS in f.message],
        findings, workload, pods,
        "aws ec2 describe-vpc-endpoints --query 'VpcEndpoints[].[ServiceName,VpcId,State]' --output table",
    )  # fmt: skip


@cause("network.route_missing", also=True)
def route_missing(findings: Findings, workload: Workload, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """Fires where any other registry does not answer from the node."""
    return _out_of_reach(
        "network.route_missing",
        [f for f in _stuck(findings, OUT_OF_REACH) if OF_AWS not in f.message],
        findings, workload, pods,
        "aws ec2 describe-route-tables --query 'RouteTables[].[RouteTableId,Routes]' --output json",
    )  # fmt: skip


@cause("network.name_unresolved", also=True)
def name_unresolved(findings: Findings, workload: Workload, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """Fires where the node finds no address for the registry's name: a wrong name, or a resolver that fails."""
    return _out_of_reach(
        "network.name_unresolved", _stuck(findings, NO_NAME), findings, workload, pods,
        f"getent hosts {workload.image.partition('/')[0]}; cat /etc/resolv.conf  # on the node",
    )  # fmt: skip


def _stuck(findings: Findings, words: str) -> list[Finding]:
    return failed(findings, "POD103", lambda f: words in f.message)


def _out_of_reach(
    cause: str, roots: list[Finding], findings: Findings, workload: Workload, pods: PodsDocument | None, look: str
) -> Iterator[Diagnosis]:  # fmt: skip
    """A guess, and what settles it: no word of the kubelet's tells where packets are lost."""
    if roots:
        yield diagnose(
            cause,
            roots,
            f"{len(roots)} of {workload.count} pods wait for {workload.image}: {roots[0].message}",
            repair=Repair.CHANGE_NETWORK_CONFIG,
            commands=(f"kubectl -n {workload.namespace} describe pod {roots[0].subject.name}", look),
            follows=follows(findings, pods, *{str(f.measured) for f in roots}),
            next_observation=f"Whether the node reaches {workload.image.partition('/')[0]}: {look}",
            certainty=Certainty.HYPOTHESIS,
        )
