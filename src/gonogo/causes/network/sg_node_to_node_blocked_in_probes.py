"""A security group keeps nodes from reaching each other.

## What is wrong
Probes between nodes get no answer, and the rules of the security groups that these nodes are in say why: none of them
admits the one to the other. Training hangs where ranks meet, or at the first collective.

## Fix
Admit all traffic from the one group, by its id, into the other; the same the other way round. The command does.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from shlex import quote

from gonogo.causes.consequences import bad
from gonogo.causes.network.filtering import counted, explains
from gonogo.facts.aws_network import EPHEMERAL, Attachment, Attachments, SecurityGroups
from gonogo.facts.blocked import Blocked, blocked
from gonogo.facts.ports import Ports, Probe
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Evidence, Repair, Subject, node
from gonogo.plan import Plan

PROBES = 2  # cited
NAMED = 2  # nodes of one group


@dataclass(frozen=True, slots=True)
class _Shut:
    """A door that probes found shut, and that rules say is shut: of one group, towards another."""

    group: str
    peer: str
    egress: bool

    @property
    def command(self) -> str:
        """What opens it."""
        way, rule = "ingress", f"--protocol -1 --source-group {quote(self.peer)}"
        if self.egress:  # which has no short form that names a group
            way = "egress"
            rule = f"--ip-permissions {quote(f'IpProtocol=-1,UserIdGroupPairs=[{{GroupId={self.peer}}}]')}"
        return f"aws ec2 authorize-security-group-{way} --group-id {quote(self.group)} {rule}"


@cause("network.sg_node_to_node_blocked", refines=("network.port_blocked", "network.one_way_blocked"))
def sg_node_to_node_blocked(
    findings: Findings, attachments: Attachments, groups: SecurityGroups, plan: Plan, ports: Ports | None
) -> Iterator[Diagnosis]:
    """One diagnosis for each set of pairs whose silence the rules account for, all of it.

    Silent where the rules can't be what is in force: a port connects that they don't admit. Where nobody has probed
    anything, the rules alone support it.
    """
    if ports is None:
        yield from _on_paper(findings, attachments, groups, (plan.job.rendezvous_port, *EPHEMERAL))
        return
    for found in blocked(ports):
        doors = [_in_the_way_of(p, attachments, groups) for p in found.probes] if found.how == "dropped" else [()]
        if not all(doors) or _belied(found, ports, attachments, groups):
            continue
        shut = list(dict.fromkeys(door for some in doors for door in some))
        yield _diagnosis(found, shut, findings, ports, attachments, groups)


def _in_the_way_of(probe: Probe, attachments: Attachments, groups: SecurityGroups) -> tuple[_Shut, ...]:
    """What the rules shut in a probe's way; nothing if they let it pass or are not known."""
    source = attachments.present.get(node(probe.source))
    target = attachments.present.get(node(probe.target))
    return _doors(source, target, probe.port, groups) if source and target else ()


def _doors(source: Attachment, target: Attachment, port: int, groups: SecurityGroups) -> tuple[_Shut, ...]:
    """What the rules shut between two nodes."""
    known = groups.known(source.groups) and groups.known(target.groups)
    if not known or source.interface is target.interface:
        return ()
    shared = [id for id in target.groups if id in source.groups]
    mine, theirs = _of_nodes(shared or source.groups, groups), _of_nodes(shared or target.groups, groups)
    found = []
    if not groups.lets_in(source, target, port):
        found.append(_Shut(theirs, mine, False))
    if not groups.lets_out(source, target, port):
        found.append(_Shut(mine, theirs, True))
    return tuple(found)


def _of_nodes(ids: Sequence[str], groups: SecurityGroups) -> str:
    """Of several groups, the one that looks like the nodes' own."""
    return next((id for id in ids if groups.by_id[id].is_of_nodes), ids[0])


def _belied(found: Blocked, ports: Ports, attachments: Attachments, groups: SecurityGroups) -> bool:
    """Whether a port connects between the same nodes that the rules don't admit."""
    names = found.shape.involved
    tried = (p for s, n in ports.present.items() if s.name in names for p in n.probes if p.target in names)
    return any(p.connected and _in_the_way_of(p, attachments, groups) for p in tried)


def _on_paper(
    findings: Findings, attachments: Attachments, groups: SecurityGroups, ports: Sequence[int]
) -> Iterator[Diagnosis]:
    """What rules say where nodes have not tried: of each set of groups two nodes stand for all."""
    alike: dict[tuple[str, ...], list[Attachment]] = {}
    for one in attachments.present.values():
        alike.setdefault(one.groups, []).append(one)
    some = [a for members in alike.values() for a in members[:2]]
    doors = (d for a in some for b in some for port in ports for d in _doors(a, b, port, groups))
    if shut := tuple(dict.fromkeys(doors)):
        told = _told(shut, list(attachments.present.values()), groups)
        yield replace(
            _made(shut, findings, groups),
            certainty=Certainty.SUPPORTED,
            summary=f"{_sentence(shut, groups)}: by the rules, ports {', '.join(map(str, ports))} are not all open.",
            evidence=tuple(told),
            next_observation="Nobody has tried it: gonogo verify --only network --level quick.",
        )


def _diagnosis(
    found: Blocked, shut: Sequence[_Shut], findings: Findings, ports: Ports, attachments: Attachments,
    groups: SecurityGroups,
) -> Diagnosis:  # fmt: skip
    made = _made(shut, findings, groups)
    there = [a for s, a in attachments.present.items() if s.name in found.shape.involved]
    probes = [p.evidence for p in {p.source: p for p in reversed(found.probes)}.values()][::-1]
    return replace(
        made,
        summary=f"{_sentence(shut, groups)}: {counted(found, len(ports))} on {found.spelled}.",
        subjects=(*made.subjects, *(node(n) for n in sorted(found.shape.involved))),
        evidence=(probes[0], *_told(shut, there, groups), *probes[1 : 1 + PROBES]),
        explains=tuple(dict.fromkeys([*explains(found, findings), *made.explains])),
    )


def _made(shut: Sequence[_Shut], findings: Findings, groups: SecurityGroups) -> Diagnosis:
    """What the rules alone make of it."""
    ids = tuple(dict.fromkeys(door.group for door in shut))
    return Diagnosis(
        cause="network.sg_node_to_node_blocked",
        certainty=Certainty.ESTABLISHED,
        summary=f"{_sentence(shut, groups)}.",
        subjects=tuple(Subject("aws", id) for id in ids),
        evidence=(),
        explains=tuple(key for key in bad(findings, "NET201") if set(key.subject.name.split("+")) & set(ids)),
        repair=Repair.CHANGE_NETWORK_RULE,
        commands=tuple(dict.fromkeys(door.command for door in shut)),
        next_observation="Once the rules are there, the same probes connect: gonogo verify --only network.",
    )


def _sentence(shut: Sequence[_Shut], groups: SecurityGroups) -> str:
    first = shut[0]
    peer = "itself" if first.peer == first.group else groups.spelled(first.peer)
    back = _Shut(first.peer, first.group, first.egress)
    text = f"Security group {groups.spelled(first.group)} {_opens(first, groups)} {peer}"
    text += ", nor the other way round" if back in shut[1:] else ""
    more = [f"{groups.spelled(d.group)} {'to' if d.egress else 'from'} {d.peer}" for d in shut[1:] if d != back]
    return f"{text}; the same of {', '.join(more)}" if more else text


def _opens(door: _Shut, groups: SecurityGroups) -> str:
    """What it opens to that peer by name, to be followed by the peer."""
    group = groups.by_id[door.group]
    rules = [r for r in (group.egress if door.egress else group.ingress) if r.group == door.peer]
    way, towards = ("out", "to") if door.egress else ("in", "from")
    ports = ", ".join(dict.fromkeys(r.opened for r in rules))
    return f"lets {way} only {ports} {towards}" if ports else f"lets nothing {way} {towards}"


def _told(shut: Sequence[_Shut], there: Sequence[Attachment], groups: SecurityGroups) -> Iterator[Evidence]:
    """The rules, and who is subject to them."""
    yield from (groups.told(*door) for door in dict.fromkeys((d.group, d.egress) for d in shut))
    for id in dict.fromkeys(d.group for d in shut):
        yield from _who(id, [a for a in there if id in a.groups])


def _who(id: str, members: Sequence[Attachment]) -> Iterator[Evidence]:
    """Node, pod and instance of a group's members, at the line that says so of the first."""
    said = [f"{a.node} ({', '.join(x for x in (a.pod, a.interface.instance) if x)})" for a in members]
    more = f" and {len(members) - NAMED} more" if len(members) > NAMED else ""
    if members:
        yield members[0].interface.evidence(f"in {id}: {', '.join(said[:NAMED])}{more}")
