"""The pods' own security groups keep ranks apart.

## What is wrong
A SecurityGroupPolicy gives the pods an interface whose groups don't let them in from each other.

## Fix
Let the groups in from themselves on all ports, both ways, or take training pods out of the policy.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/security-groups-pods-deployment.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Repair, Status


@cause("cni.pod_security_groups_block_ranks", refines=("network.port_blocked", "network.one_way_blocked"))
def pod_security_groups_block_ranks(findings: Findings, workload: Workload) -> Iterator[Diagnosis]:
    """Fires where ports are dropped between pods that have groups of their own; the groups' rules aren't seen here."""
    apart = [f for f in findings if f.check == "CNI103" and f.status is Status.WARN]
    blocked = [*findings.failed("NET001"), *findings.failed("NET002")]
    if not apart or not blocked:
        return
    waiting = [f.key for f in findings if f.status in (Status.FAIL, Status.UNKNOWN)
               and f.check.startswith(("NET00", "LNK", "COL", "TRN", "JOB"))]  # fmt: skip
    yield diagnose(
        "cni.pod_security_groups_block_ranks",
        [*apart, *blocked],
        f"{apart[0].message.rstrip('.')}; {len(blocked)} directions between them are blocked.",
        repair=Repair.CHANGE_NETWORK_RULE,
        commands=(f"kubectl -n {workload.namespace} get securitygrouppolicies -o yaml",),
        certainty=Certainty.SUPPORTED,
        follows=waiting,
        next_observation="aws ec2 describe-security-groups of those groups: whether they let themselves in.",
    )
