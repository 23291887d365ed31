"""Packets larger than the path carries vanish: the nodes' MTU is too large for what lies between.

## What is wrong
Small messages pass, and every message that needs a packet above some size is lost without a word. Connections open,
the rendezvous passes, and the first large all_reduce hangs until its timeout.

## Fix
Lower the nodes' MTU to what the path carries, or raise the path's; let ICMP "fragmentation needed" through, so that
senders are told. `sysctl net.ipv4.tcp_mtu_probing=1` lets TCP find out by itself, after seconds.
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST, MOST_NODES, addresses, on
from gonogo.causes.consequences import bad, stopped
from gonogo.facts.identities import Identities
from gonogo.facts.links import LinkRun, Links, Message
from gonogo.facts.nodes import Nodes
from gonogo.facts.shapes import Shape, shapes
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Evidence, FindingKey, Repair, link, node

HEADERS_BYTES = 52
"""IPv4, TCP, and TCP's timestamps."""

LARGEST_PACKET_BYTES = 65_535


@cause("network.mtu_mismatch")
def mtu_mismatch(
    findings: Findings, links: Links, nodes: Nodes | None, identities: Identities | None
) -> Iterator[Diagnosis]:
    """One diagnosis for each node, or set of links, that carries small messages and loses those of a larger packet."""
    holes = {(s.name, s.to): found for s, run in links.present.items() if (found := black_hole(run))}
    tried = [(s.name, s.to) for s, run in links.present.items() if run.messages]
    for shape in shapes(holes.keys(), tried, links.names):
        yield _diagnosis(shape, [holes[pair] for pair in shape.pairs], findings, nodes, identities)


def black_hole(run: LinkRun) -> tuple[Message, Message] | None:
    """The largest message that passed and the smallest that vanished, if only the size of packets parts them.

    Not if a message passed that already needed full packets: then it is the number of bytes that matters, not their
    packets. Not if the peer answered nothing at all.
    """
    passed = [m for m in run.messages if m.ok]
    lost = [m for m in run.messages if not m.ok]
    if not passed or not lost:
        return None
    largest, smallest = max(passed, key=lambda m: m.size_bytes), min(lost, key=lambda m: m.size_bytes)
    packet = smallest.mss or largest.mss or LARGEST_PACKET_BYTES
    parted = largest.size_bytes < smallest.size_bytes <= LARGEST_PACKET_BYTES + 1
    return (largest, smallest) if parted and largest.size_bytes < packet else None


def _diagnosis(
    shape: Shape,
    holes: list[tuple[Message, Message]],
    findings: Findings,
    nodes: Nodes | None,
    identities: Identities | None,
) -> Diagnosis:
    passed, lost = max(m.size_bytes for m, _ in holes), min(m.size_bytes for _, m in holes)
    names = shape.nodes or tuple(sorted(shape.involved))
    told = _mtus(nodes, names)
    mtus = f"; the interfaces say MTU {', '.join(str(m) for m in sorted({m for _, _, m in told}))}" if told else ""
    where = shape.spell(len(nodes) if nodes else len(names))
    dial = next(iter(addresses(identities, names)), names[0])
    resent = any(m.retransmits for _, m in holes)
    return Diagnosis(
        cause="network.mtu_mismatch",
        certainty=Certainty.ESTABLISHED if told or resent else Certainty.SUPPORTED,
        summary=f"Large packets vanish {where}: messages up to {passed} bytes pass, {lost} bytes do not{mtus}.",
        subjects=tuple(node(n) for n in shape.nodes) or tuple(link(a, b) for a, b in shape.pairs),
        evidence=tuple(_evidence(holes, nodes, names)),
        explains=_explains(findings, shape),
        repair=Repair.CHANGE_NETWORK_CONFIG,
        commands=tuple(_commands(told, passed, lost, names, addresses(identities, names))),
        next_observation=f"The largest packet that passes: `tracepath -n {dial}` from a peer.",
    )


def _mtus(nodes: Nodes | None, names: tuple[str, ...]) -> list[tuple[str, str, int]]:
    """(node, interface, MTU) of the interfaces that aren't loopback."""
    infos = [nodes.present[node(n)] for n in names if node(n) in nodes.present] if nodes else []
    return [
        (i.name, x.name, x.mtu) for i in infos for x in i.interfaces if x.mtu and x.name != "lo" and "." in x.address
    ]


def _evidence(holes: list[tuple[Message, Message]], nodes: Nodes | None, names: tuple[str, ...]) -> Iterator[Evidence]:
    for passed, lost in holes[:MOST]:
        yield lost.evidence
        yield passed.evidence
    for name, interface, mtu in _mtus(nodes, names)[:MOST]:
        info = nodes.present[node(name)] if nodes else None
        if info:
            yield info.record.evidence(f"{name}: {interface} has MTU {mtu}")


def _commands(
    told: list[tuple[str, str, int]], passed: int, lost: int, names: tuple[str, ...], own: list[str]
) -> Iterator[str]:
    """An MTU that passes: the usual 1500 where that lies between what passed and what didn't, else what passed."""
    mtu = 1500 if passed + HEADERS_BYTES <= 1500 < lost + HEADERS_BYTES else passed + HEADERS_BYTES
    for address in own[:1]:
        yield f"ping -M do -c 3 -s {mtu - 28} {address}  # from a peer: passes at MTU {mtu}"
    for name, interface, _ in told[:MOST_NODES]:
        yield on(name, f"ip link set dev {interface} mtu {mtu}")


def _explains(findings: Findings, shape: Shape) -> tuple[FindingKey, ...]:
    both = {link(a, b) for a, b in shape.pairs} | {link(b, a) for a, b in shape.pairs}
    of_links = bad(findings, "LNK001", "LNK002", "LNK003", about=both)
    warned = bad(findings, "NOD004")
    return tuple(dict.fromkeys((*of_links, *warned, *stopped(findings))))
