"""A security group lets nodes talk to each other on too few ports, or not at all.

## What is wrong
Ranks connect to the rendezvous port and then to each other on ports that the kernel picks. A node group's security
group that admits only a few ports from its own members drops the rest: connections time out, and are not refused.

## What settles it
The group's inbound rules: one must name the group itself (or the nodes' network) for the port that was asked for; and
that the nodes are in that group, which describe-instances tells.

## Fix
Admit all traffic from the group to itself, in both directions.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from gonogo.causes.network.symptoms import DNS_PORT, asked_addresses, asked_port, dropped, unanswered, waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.rules import Group, security_groups
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair, Subject

_OF_PROCESSES = 30_000  # ports from here on are picked by kernels, for as long as a process lives
_OBSERVE = (
    "Whether the nodes are in it: aws ec2 describe-instances --query "
    "'Reservations[].Instances[].[InstanceId,PrivateIpAddress,SecurityGroups]'"
)


@cause("network.sg_node_to_node_blocked", refines=("network.port_blocked", "kubernetes.dns_down"), also=True)
def sg_node_to_node_blocked(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """One diagnosis for each group of nodes that does not admit its own members."""
    silent = dropped(events)
    if told := events.of("aws.path_explained").where(code="ENI_SG_RULES_MISMATCH"):
        yield diagnosis(
            "network.sg_node_to_node_blocked",
            "Reachability Analyzer names a security group's rules as what blocks the path between the nodes.",
            told,
            silent,
            repair=Repair.CHANGE_NETWORK_RULE,
            commands=("aws ec2 describe-network-insights-analyses --query 'NetworkInsightsAnalyses[].Explanations'",),
        )
        return
    if not silent:
        yield from _without_dns(events, objects)
        return
    port, addresses = asked_port(silent), asked_addresses(silent)
    if shown := _in_rows(events, silent, port):
        yield shown
        return
    groups = security_groups(objects)
    of_nodes = [g for g in groups if g.is_of_nodes] or list(groups if len(groups) == 1 else ())
    ids = [g.id for g in of_nodes]
    asked_of = _groups_at(objects, addresses)
    pairs: set[frozenset[str]] = set()
    for group in sorted(of_nodes, key=lambda g: g.id not in asked_of):
        needed = (port, 29400, 41234) if port == 29500 else (port, 41234)
        closed = [p for p in needed if not group.admits(p, ids if len(of_nodes) == 1 else [group.id], addresses)]
        others = [o for o in of_nodes if o.id != group.id and not _one_way(group, o, port, addresses)]
        if port in closed or (closed and asked_port(silent) > 30000):
            yield _diagnosis(group, silent, port, group.id, _sure(group, objects))
        elif _keeps_in(group, ids, port, addresses):
            yield _kept_in(group, silent, port, ids, _sure(group, objects))
        elif others and not closed and frozenset((group.id, others[0].id)) not in pairs:
            pairs.add(frozenset((group.id, others[0].id)))
            yield _apart(group, others[0], silent, port, _sure(group, objects), waiting(events))


def _without_dns(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Lookups are lost where DNS runs: its pods are on nodes of the one group, or of the other."""
    lookups = unanswered(events, objects)
    groups = [g for g in security_groups(objects) if g.is_of_nodes]
    addresses = tuple(str(p.get("status.podIP")) for p in objects.of("Pod") if p.get("status.podIP"))
    if not lookups or not groups:
        return
    pairs = combinations(groups, 2) if len(groups) > 1 else ((groups[0], groups[0]),)
    closed = [(a, b) for a, b in pairs if not _may_ask(a, b, addresses) and not _may_ask(b, a, addresses)]
    for a, b in closed[:1]:
        if a is b:
            yield _diagnosis(a, lookups, DNS_PORT, a.id, _sure(a, objects))
        else:
            yield _apart(a, b, lookups, DNS_PORT, _sure(a, objects), waiting(events))


def _may_ask(asked: Group, asking: Group, addresses: tuple[str, ...]) -> bool:
    each: list[tuple[str, ...]] = [(a,) for a in addresses] or [()]
    return any(asked.admits(DNS_PORT, [asking.id], own, "udp") for own in each)


def _keeps_in(group: Group, ids: list[str], port: int, addresses: tuple[str, ...]) -> bool:
    """Whether its outbound rules, where they are told, let its members reach no node on the port."""
    told = "IpPermissionsEgress" in group.told.data or bool(group.egress)
    return told and not group.names_lists and not group.lets_out(port, ids, addresses)


def _one_way(group: Group, other: Group, port: int, addresses: tuple[str, ...]) -> bool:
    return group.admits(port, [other.id], addresses) or other.admits(port, [group.id], addresses)


def _sure(group: Group, objects: Objects) -> Certainty:
    """Rules alone don't say whose they are: that takes an instance in the group, or at least the look of nodes."""
    instances = [i for r in objects.of("Reservations") for i in r.items("Instances") if isinstance(i, dict)]
    if any(_is_in(group, instance) for instance in (*instances, *(o.data for o in objects.of("Instances")))):
        return Certainty.ESTABLISHED
    return Certainty.SUPPORTED if group.is_of_nodes else Certainty.HYPOTHESIS


def _is_in(group: Group, instance: Mapping[str, Any]) -> bool:
    groups = instance.get("SecurityGroups")
    return isinstance(groups, list) and any(isinstance(g, dict) and g.get("GroupId") == group.id for g in groups)


def _diagnosis(group: Group, silent: Events, port: int, source: str, sure: Certainty) -> Diagnosis:
    rules = [r for r in group.ingress if r.group == source] or list(group.ingress)
    opened = sorted({f"{r.protocol} {r.low}" if r.low == r.high else f"{r.protocol} {r.low}-{r.high}" for r in rules})
    told = ", ".join(opened[:6]) if rules and rules[0].group == source else "nothing"
    return diagnosis(
        "network.sg_node_to_node_blocked",
        f"Security group {group.id} lets in {told} from {'itself' if source == group.id else source}: "
        f"{_spelled(port)} between nodes is dropped.",
        silent,
        [r.evidence for r in reversed(rules)] or [group.told.cite("IpPermissions", "no inbound rule")],
        repair=Repair.CHANGE_NETWORK_RULE,
        subjects=(Subject("aws", group.id),),
        # nobody should open a group that may have nothing to do with the nodes
        commands=(
            f"aws ec2 authorize-security-group-ingress --group-id {group.id} --protocol -1 --source-group {source}"
            if sure is not Certainty.HYPOTHESIS
            else f"aws ec2 describe-instances --filters Name=instance.group-id,Values={group.id} "
            "--query 'Reservations[].Instances[].[InstanceId,PrivateIpAddress]'",
        ),
        certainty=sure,
        next_observation=_OBSERVE if sure is not Certainty.ESTABLISHED else _try_again(silent, port),
    )


def _spelled(port: int) -> str:
    return f"{'UDP ' if port == DNS_PORT else ''}port {port}"


def _try_again(silent: Events, port: int) -> str:
    """What shows that the rule is right; a port that ended with its process answers nobody, whatever the rules say."""
    if port == DNS_PORT:
        return "Whether a pod on each group's nodes finds a name then: nslookup kubernetes.default."
    if port >= _OF_PROCESSES:
        return f"Whether the ranks connect in a new run: port {port} was of a process of this one."
    return f"From a pod on another node: nc -vz {(asked_addresses(silent) or ('<address>',))[0]} {port}."


def _kept_in(group: Group, silent: Events, port: int, ids: list[str], sure: Certainty) -> Diagnosis:
    opened = sorted({r.opened for r in group.egress})
    other = next((i for i in ids if i != group.id), group.id)
    return diagnosis(
        "network.sg_node_to_node_blocked",
        f"Security group {group.id} lets out {', '.join(opened[:6]) or 'nothing'}: its members reach no node on "
        f"port {port}.",
        silent,
        [r.evidence for r in reversed(group.egress)] or [group.told.cite("IpPermissionsEgress", "no outbound rule")],
        repair=Repair.CHANGE_NETWORK_RULE,
        subjects=(Subject("aws", group.id),),
        commands=(
            f"aws ec2 authorize-security-group-egress --group-id {group.id} --ip-permissions "
            f"'IpProtocol=-1,UserIdGroupPairs=[{{GroupId={other}}}]'",
        )
        if sure is not Certainty.HYPOTHESIS
        else (),
        certainty=sure,
        next_observation="" if sure is Certainty.ESTABLISHED else _OBSERVE,
    )


def _groups_at(objects: Objects, addresses: tuple[str, ...]) -> set[str]:
    """The groups of the instances that have one of the addresses."""
    instances = [i for r in objects.of("Reservations") for i in r.items("Instances") if isinstance(i, dict)]
    at = [i for i in (*instances, *(o.data for o in objects.of("Instances"))) if i.get("PrivateIpAddress") in addresses]
    lists = [i["SecurityGroups"] for i in at if isinstance(i.get("SecurityGroups"), list)]
    return {str(g.get("GroupId")) for told in lists for g in told if isinstance(g, dict)}


def _apart(group: Group, other: Group, silent: Events, port: int, sure: Certainty, late: Events) -> Diagnosis:
    """Two groups of nodes of which neither lets the other in: one fault, and a rule is missing in both."""
    opened = sorted({r.opened for g in (group, other) for r in g.ingress if r.cidr and r.protocol != "-1"})
    but = f", by addresses only {', '.join(opened[:6])}" if opened else ""
    allow = "aws ec2 authorize-security-group-ingress --group-id {} --protocol -1 --source-group {}"
    return diagnosis(
        "network.sg_node_to_node_blocked",
        f"Security groups {group.id} and {other.id} do not let each other in{but}: {_spelled(port)} between their "
        "nodes is dropped.",
        silent,
        [r.evidence for g in (group, other) for r in reversed(g.ingress)]
        or [g.told.cite("IpPermissions", "no inbound rule") for g in (group, other)],
        repair=Repair.CHANGE_NETWORK_RULE,
        subjects=(Subject("aws", group.id), Subject("aws", other.id)),
        commands=[allow.format(a, b) for a, b in ((group.id, other.id), (other.id, group.id))]
        if sure is not Certainty.HYPOTHESIS
        else (),
        explains=late,
        certainty=sure,
        next_observation="" if sure is Certainty.ESTABLISHED else _OBSERVE,
    )


def _in_rows(events: Events, silent: Events, port: int) -> Diagnosis | None:
    """The same from rows of rules that a --query left, of the one group that was asked for."""
    groups, rows = events.of("aws.sg_asked").values("group"), events.of("aws.sg_rule_row")
    if len(groups) != 1 or not rows or any(e.get("cidr") not in ("", "None") for e in rows):
        return None
    own = Events(tuple(e for e in rows if e.get("source") == groups[0]))
    opened = [
        e for e in own
        if e.get("protocol") == "-1"
        or (e.get("protocol") == "tcp" and e.get("low").isdigit() and int(e.get("low")) <= port <= int(e.get("high")))
    ]  # fmt: skip
    if opened:
        return None
    told = ", ".join(f"{e.get('protocol')} {e.get('low')}" for e in own) or "nothing"
    return diagnosis(
        "network.sg_node_to_node_blocked",
        f"Security group {groups[0]} lets in {told} from itself: port {port} between nodes is dropped.",
        silent,
        own or rows,
        repair=Repair.CHANGE_NETWORK_RULE,
        subjects=(Subject("aws", groups[0]),),
        commands=(
            f"aws ec2 authorize-security-group-ingress --group-id {groups[0]} --protocol -1 --source-group {groups[0]}",
        ),
        certainty=Certainty.SUPPORTED,
        next_observation=_OBSERVE,
    )
