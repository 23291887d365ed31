"""A NetworkPolicy cuts ranks apart.

## What is wrong
A policy selects the job's pods and allows too few ports, or nothing, between them.

## Fix
Allow all ports between pods with the job's labels, both ways.

## Source
https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed
from gonogo.facts.kube_cluster import NetworkPolicies
from gonogo.facts.kube_select import selects
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Repair, Status


@cause("network.network_policy_blocks_ranks", refines=("network.port_blocked", "network.one_way_blocked"))
def network_policy_blocks_ranks(
    findings: Findings, workload: Workload, policies: NetworkPolicies
) -> Iterator[Diagnosis]:
    """Established where ports are blocked as well; where agents found them open, the CNI doesn't enforce policies.

    A policy may select the user's own pods alone, by a label that their controller adds: agents prove nothing of it.
    """
    roots = failed(findings, "NET101")
    if not roots:
        return
    tried = [f for f in findings if f.check in ("NET001", "NET002") and f.status in (Status.OK, Status.FAIL)]
    blocked = [f for f in tried if f.status is Status.FAIL]
    names = {f.subject.name.partition("/")[2] for f in roots} - {""}
    of_agents = not names or any(
        selects(p.mapping("spec", "podSelector"), workload.labels) for p in policies.policies if p.name in names
    )
    if tried and not blocked and of_agents:
        return
    blocked = blocked if of_agents else []
    waiting = [f.key for f in findings if blocked and f.status in (Status.FAIL, Status.UNKNOWN)
               and f.check.startswith(("NET00", "LNK", "COL", "TRN", "JOB"))]  # fmt: skip
    name = roots[0].subject.name.partition("/")[2]
    look = f"kubectl -n {workload.namespace} get networkpolic{f'y {name}' if name else 'ies'} -o yaml"
    yield diagnose(
        "network.network_policy_blocks_ranks",
        [*roots, *blocked],
        roots[0].message,
        repair=Repair.CHANGE_NETWORK_RULE,
        commands=(look,),
        certainty=Certainty.ESTABLISHED if blocked else Certainty.SUPPORTED,
        follows=waiting,
    )
