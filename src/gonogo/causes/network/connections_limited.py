"""A node takes only few connections at once.

## What is wrong
One connection at a time works, many together don't: packets that would open more are dropped. A full table of tracked
connections, or a rule that limits how many there may be, does that. Jobs with few ranks pass and larger ones hang
while their mesh of connections is made.

## Fix
Raise net.netfilter.nf_conntrack_max, or the rule's limit (connlimit), on the node that is named or on what filters on
the way to it.

## Source
https://docs.kernel.org/networking/nf_conntrack-sysctl.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gonogo.causes.commands import MOST, MOST_NODES, on
from gonogo.causes.consequences import bad, stopped, waiting
from gonogo.facts.again import Again
from gonogo.facts.ports import Ports, Probe
from gonogo.facts.shapes import Shape, shapes
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Evidence, FindingKey, Repair, link, node


@cause("network.connections_limited", refines=("network.port_blocked", "network.one_way_blocked"))
def connections_limited(findings: Findings, ports: Ports, again: Again) -> Iterator[Diagnosis]:
    """One diagnosis for each node or set of pairs whose silent ports connected once nothing else was held."""
    now = again.limited(ports)
    tried = [(p.source, p.target) for n in ports.present.values() for p in n.probes]
    limited = {(p.source, p.target) for p in now}
    limited |= {pair for pair in tried if pair[1] in {to for _, to in limited} and _is_mute(ports.probes(*pair))}
    for shape in shapes(limited, tried, ports.names):
        mine = [p for p in now if (p.source, p.target) in shape.pairs]
        before = [p for pair in shape.pairs for p in ports.probes(*pair)]
        yield _diagnosis(shape, mine, before, findings, len(ports))


def _is_mute(probes: Sequence[Probe]) -> bool:
    """Whether some or all got no answer: where others take what a limit allows, nothing is left at a second try."""
    return any(p.outcome == "silent" for p in probes) and all(p.outcome in ("silent", "connected") for p in probes)


def _diagnosis(shape: Shape, now: list[Probe], before: list[Probe], findings: Findings, total: int) -> Diagnosis:
    silent = [p for p in before if not p.connected]
    taken = len(before) - len(silent)
    names = shape.nodes or tuple(sorted(shape.involved))
    return Diagnosis(
        cause="network.connections_limited",
        certainty=Certainty.ESTABLISHED,
        summary=f"Of {len(before)} connections held at once {shape.spell(total)}, {taken} connect and {len(silent)} "
        f"don't; {len(now)} of those connect when tried again alone.",
        subjects=tuple(node(n) for n in shape.nodes) or tuple(link(a, b) for a, b in shape.pairs),
        evidence=tuple(_evidence(silent, now)),
        explains=_explains(findings, shape),
        repair=Repair.CHANGE_NETWORK_CONFIG,
        commands=tuple(
            on(n, "sysctl -a 2>/dev/null | grep -E 'nf_conntrack_(count|max)'; iptables-save | grep connlimit")
            for n in names[:MOST_NODES]
        ),
        next_observation=f"Whether the table is full: `dmesg | grep 'table full'` on {names[0]}.",
    )  # fmt: skip


def _evidence(silent: list[Probe], now: list[Probe]) -> Iterator[Evidence]:
    yield from (p.evidence for p in silent[:MOST])
    for p in now[:MOST]:
        yield p.record.evidence(f"{p.source} -> {p.target} port {p.port}, alone: {p.said}")


def _explains(findings: Findings, shape: Shape) -> tuple[FindingKey, ...]:
    both = {link(a, b) for a, b in shape.pairs} | {link(b, a) for a, b in shape.pairs}
    direct = bad(findings, "NET001", "NET002", "NET008", "LNK001", "LNK002", "LNK003", about=both)
    names = shape.nodes or tuple(shape.involved)
    return tuple(dict.fromkeys((*direct, *waiting(findings, names), *stopped(findings, names))))
