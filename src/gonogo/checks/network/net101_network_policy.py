"""No network policy cuts the ranks apart.

## Why it matters
Once one policy selects a pod, all that no policy allows is dropped without an answer. Ranks connect on ports that the
kernel hands out, so a policy that opens the rendezvous port alone lets them join and then hang.

## Usual causes
- a default-deny policy of the namespace, without one that lets the job's pods talk to each other
- a policy that opens single ports
- the Amazon VPC CNI's mode strict (NETWORK_POLICY_ENFORCING_MODE), in which a pod without a policy talks to nobody

## Fix
Add a policy that allows all ports between pods with the job's labels, in both directions, and DNS.

## Source
https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gonogo.documents.kubernetes import Object
from gonogo.facts.kube_cluster import Namespace, NetworkPolicies
from gonogo.facts.kube_cni import AGENT, Cni
from gonogo.facts.kube_select import selects
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import check
from gonogo.model import CLUSTER, Finding, Status, Subject

PEERS = {"Ingress": ("ingress", "from"), "Egress": ("egress", "to")}


@check("NET101")
def network_policy(policies: NetworkPolicies, workload: Workload, namespace: Namespace, cni: Cni) -> Iterator[Finding]:
    """Policies add up: one that allows all ports is enough. Whether the CNI enforces any can not be seen."""
    for direction in PEERS:
        mine = [p for p in policies.policies if _selects(p, workload) and direction in _types(p)]
        if not mine and cni.drops_by_default:
            text = f"No network policy allows the pods any {direction.lower()}, and {AGENT} drops what none allows."
            setting = cni.evidence("NETWORK_POLICY_ENFORCING_MODE")
            yield Finding(Status.FAIL, CLUSTER, text, "on no port", "all ports", evidence=(setting,))
            continue
        if not mine:
            text = f"0 of {len(policies.policies)} network policies restrict the pods' {direction.lower()}."
            yield Finding(Status.OK, CLUSTER, text)
            continue
        verdicts = [_verdict(p, direction, workload, namespace) for p in mine]
        names = ", ".join(p.name for p in mine)
        evidence = tuple(p.evidence(f"networkpolicy {p.name} selects the pods for {direction.lower()}") for p in mine)
        subject = Subject("object", f"networkpolicy/{mine[0].name}")
        if "all" in verdicts:
            text = f"Network policies ({names}) allow all ports between the pods for {direction.lower()}."
            yield Finding(Status.OK, subject, text, evidence=evidence)
        elif "addresses" in verdicts:
            text = f"Network policies ({names}) allow {direction.lower()} by addresses, which pods do not have yet."
            yield Finding(Status.UNKNOWN, subject, text, evidence=evidence)
        else:
            ports = [v for v in verdicts if v]
            only = f"only on {', '.join(ports)}" if ports else "on no port"
            text = f"Network policies ({names}) let the pods talk to each other {only} ({direction.lower()})."
            yield Finding(Status.FAIL, subject, text, only, "all ports", evidence=evidence)


def _selects(policy: Object, workload: Workload) -> bool:
    return selects(policy.mapping("spec", "podSelector"), workload.job_labels)


def _types(policy: Object) -> list[str]:
    stated = policy.at("spec", "policyTypes")
    if isinstance(stated, list):
        return stated
    return ["Ingress", "Egress"] if policy.at("spec", "egress") else ["Ingress"]


def _verdict(policy: Object, direction: str, workload: Workload, namespace: Namespace) -> str:
    """What one policy allows between the pods: all, by addresses, some ports in words, or "": nothing."""
    rules, peers = PEERS[direction]
    found = ""
    for rule in policy.each("spec", rules):
        among = _among(rule.get(peers), workload, namespace)
        if not among:
            continue
        ports = rule.get("ports")
        if among == "all" and (not ports or any("port" not in p and p.get("protocol", "TCP") == "TCP" for p in ports)):
            return "all"
        if among == "addresses" and not ports:
            found = "addresses"
        elif ports and found != "addresses":
            said = ", ".join(f"{p.get('port')}" + (f"-{p['endPort']}" if "endPort" in p else "") for p in ports)
            found = f"{found}, {said}".strip(", ")
    return found


def _among(peers: list[Mapping[str, Any]] | None, workload: Workload, namespace: Namespace) -> str:
    if not peers:
        return "all"
    found = ""
    for peer in peers:
        if "ipBlock" in peer:
            found = found or "addresses"
            continue
        pods = "podSelector" not in peer or selects(peer["podSelector"], workload.job_labels)
        spaces = "namespaceSelector" not in peer or selects(peer["namespaceSelector"], namespace.labels)
        if pods and spaces:
            return "all"
    return found
