"""Security groups let the nodes reach each other.

## Why it matters
A security group drops what none of its rules admits, without an answer. Ranks meet on the rendezvous port and then
connect on ports that the kernel hands out, so groups must let all of these through between all nodes, or jobs hang.

## Usual causes
- node groups that have security groups of their own, neither of which names the other
- a group that admits the control plane, or single ports, and not its own members

## Fix
Admit all traffic between the groups, by id and in both directions.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gonogo.facts.aws_network import EPHEMERAL, Attachment, Attachments, SecurityGroups
from gonogo.kernel import Skip, check
from gonogo.model import Finding, Status, Subject
from gonogo.plan import Plan


@check("NET201")
def security_groups(attachments: Attachments, groups: SecurityGroups, plan: Plan) -> Iterator[Finding]:
    """One finding for each set of groups that nodes are in; nodes with the same groups are alike."""
    if len(attachments) < 2:
        raise Skip("One node alone reaches nobody.")
    alike: dict[tuple[str, ...], list[Attachment]] = {}
    for one in attachments.present.values():
        alike.setdefault(tuple(sorted(one.groups)), []).append(one)
    ports = (plan.job.rendezvous_port, *EPHEMERAL)
    for ids, members in alike.items():
        yield _finding(ids, members, [m for m in alike.values() if m is not members or len(m) > 1], groups, ports)


def _finding(
    ids: Sequence[str],
    members: Sequence[Attachment],
    sources: Sequence[Sequence[Attachment]],
    groups: SecurityGroups,
    ports: Sequence[int],
) -> Finding:
    """Whether the members are reached from each set of nodes, their own among them."""
    subject, name = Subject("aws", "+".join(ids)), " and ".join(map(groups.spelled, ids)) or "no security group"
    asked = dict.fromkeys(id for set in (members, *sources) for id in set[0].groups or ("no security group",))
    if unread := [id for id in asked if not groups.known([id])]:
        text = f"What reaches the nodes of {name} is not known: not all rules of {', '.join(unread)} are told."
        return Finding(Status.UNKNOWN, subject, text)
    shut = [s for s in sources if not all(groups.passes(a, b, port) for a, b in _pairs(s, members) for port in ports)]
    reached = len(sources) - len(shut)
    from_ = f"{reached} of {len(sources)} sets of nodes"
    but = f", not from {', '.join('+'.join(s[0].groups) for s in shut)}" if shut else ""
    return Finding(
        Status.FAIL if shut else Status.OK,
        subject,
        f"Nodes of {name} are reached on ports {', '.join(map(str, ports))} from {from_}{but}.",
        measured=reached,
        expected=len(sources),
        unit="sets of nodes",
        evidence=tuple(groups.told(id) for id in ids),
    )


def _pairs(sources: Sequence[Attachment], targets: Sequence[Attachment]) -> Iterator[tuple[Attachment, Attachment]]:
    """All of one side with one of the other: rules by group see no difference, rules by address see each once."""
    yield from ((source, targets[0]) for source in sources if source is not targets[0])
    yield from ((sources[0], target) for target in targets[1:] if target is not sources[0])
