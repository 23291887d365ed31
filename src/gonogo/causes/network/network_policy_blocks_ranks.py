"""A NetworkPolicy cuts ranks apart.

## What is wrong
As soon as one policy selects a pod for ingress (or egress), only what some policy allows gets through. A default-deny
policy, or one that opens only a web port, drops the ranks' connections.

## What settles it
All policies that select the pods, together: one must let the job's pods reach each other on all ports.

## Fix
A policy for the job's own pods that admits them from each other, on all ports.

## Source
https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import DNS_PORT, asked_port, dropped, may_answer, refused, unanswered
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("network.network_policy_blocks_ranks", refines=("network.port_blocked", "kubernetes.dns_down"), also=True)
def network_policy_blocks_ranks(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where policies select the pods and none of them lets the asked port in (or out)."""
    silent = Events((*dropped(events), *refused(events)))
    policies = [p for p in objects.of("NetworkPolicy") if not p.is_table]
    isolated = events.of("k8s.policy_isolates")
    if silent and (denied := events.of("network.policy_denied")):
        yield diagnosis(
            "network.network_policy_blocks_ranks",
            f"{f'NetworkPolicy {policies[0].name} is there, and the' if policies else 'The'} network plugin drops "
            "packets for a policy.",
            denied,
            [p.cite("metadata.name") for p in policies],
            silent,
            repair=Repair.CHANGE_NETWORK_RULE,
            subjects=[p.subject for p in policies],
            commands=("kubectl get networkpolicies,ciliumnetworkpolicies -A",),
        )
        return
    if silent and isolated and not policies:
        yield diagnosis(
            "network.network_policy_blocks_ranks",
            f"A NetworkPolicy selects pods and lets no {isolated.first.get('direction')} through.",
            silent,
            isolated,
            repair=Repair.CHANGE_NETWORK_RULE,
            commands=("kubectl describe networkpolicy",),
            next_observation="The same connection from a pod of another namespace without policies.",
        )
    lookups = events.of("dns.name_unknown", "c10d.address_lookup_failed")
    nameless = (
        not silent
        and may_answer(objects)
        and (Events(tuple(e for e in lookups if "Temporary failure" in e.text)) or unanswered(events, objects))
    )
    silent = silent or nameless or Events()
    if not silent or not policies:
        return
    port = DNS_PORT if nameless else asked_port(silent)
    labels = [p.dict("metadata.labels") for p in objects.of("Pod") if p.dict("metadata.labels")]
    for direction in ("egress",) if nameless else ("ingress", "egress"):
        selecting = [p for p in policies if _selects(p, direction, labels)]
        if selecting and not any(_allows(p, direction, port, labels) for p in selecting):
            policy = selecting[0]
            yield diagnosis(
                "network.network_policy_blocks_ranks",
                f"NetworkPolicy {policy.name} selects the job's pods and no policy allows {direction} on port {port} "
                "between them.",
                silent,
                [policy.cite(f"spec.{direction}"), policy.cite("spec.policyTypes"), policy.cite("metadata.name")],
                repair=Repair.CHANGE_NETWORK_RULE,
                subjects=[p.subject for p in selecting],
                commands=(f"kubectl describe networkpolicy {policy.name}{_namespace(policy)}",),
                next_observation="The same connection from a pod of another namespace without policies.",
            )
            return


def _namespace(policy: Object) -> str:
    return f" -n {policy.namespace}" if policy.namespace else ""


def _selects(policy: Object, direction: str, labels: list[dict[str, str]]) -> bool:
    types = policy.items("spec.policyTypes") or ["Ingress", *(["Egress"] if "egress" in policy.dict("spec") else [])]
    return direction.capitalize() in types and _matches(policy.dict("spec.podSelector"), labels)


def _matches(selector: dict[str, object], labels: list[dict[str, str]]) -> bool:
    """Whether a selector takes in one of the pods; without known pods only the empty one surely does."""
    wanted = selector.get("matchLabels")
    expressions = selector.get("matchExpressions")
    if not wanted and not expressions:
        return True
    if not labels or not isinstance(wanted, dict) or expressions:
        return bool(expressions) and bool(labels)
    return any(all(pod.get(k) == v for k, v in wanted.items()) for pod in labels)


def _allows(policy: Object, direction: str, port: int, labels: list[dict[str, str]]) -> bool:
    for rule in policy.items(f"spec.{direction}"):
        rule = rule or {}
        ports = rule.get("ports")
        opened = not ports or any(_opens(p, port) for p in ports)
        peers = rule.get("from" if direction == "ingress" else "to")
        near = not peers or any(
            "ipBlock" in p or (_matches(p.get("podSelector") or {}, labels) and "podSelector" in p)
            or "namespaceSelector" in p
            for p in peers
        )  # fmt: skip
        if opened and near:
            return True
    return False


def _opens(entry: dict[str, object], port: int) -> bool:
    low = entry.get("port")
    if low is None:
        return str(entry.get("protocol", "TCP")) == "TCP"
    if not str(low).isdigit():
        return False
    return int(str(low)) <= port <= int(str(entry.get("endPort", low)))
