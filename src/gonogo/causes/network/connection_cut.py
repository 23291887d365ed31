"""A connection is cut after some bytes.

## What is wrong
Connections open and carry small and middling messages; once a connection has carried some megabytes its packets are
dropped, while a new one works again. A firewall or proxy that loses track of long connections, or allows each so many
bytes, does that. Rendezvous and small collectives pass, the first large one hangs.

## Fix
Look for byte counters and quotas in the rules (connbytes, quota), and for inspection devices on the way; let traffic
between the nodes pass without them.

## Source
https://ipset.netfilter.org/iptables-extensions.man.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST, MOST_NODES, on
from gonogo.causes.consequences import bad, stopped
from gonogo.causes.network.mtu_mismatch import black_hole
from gonogo.facts.collectives import Collectives
from gonogo.facts.links import LinkError, LinkRun, Links, Message
from gonogo.facts.ranks import spell_bytes
from gonogo.facts.shapes import Pair, Shape, shapes
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Evidence, Repair, link, node

LARGE_BYTES = 1 << 16
"""A message that took several packets of any size: what stops a larger one is not the size of packets."""


@cause("network.connection_cut")
def connection_cut(findings: Findings, links: Links, collectives: Collectives | None) -> Iterator[Diagnosis]:
    """One diagnosis for each node or set of links; not where the peer was dead, stopped or gone afterwards."""
    gone = _unwell(collectives)
    cut: dict[Pair, tuple[Message, Message | LinkError]] = {}
    for subject, run in links.present.items():
        found = _cut(run)
        if found and not {subject.name, subject.to} & gone:
            cut[subject.name, subject.to] = found
    both = {*cut, *((b, a) for a, b in cut if link(b, a) in links.present)}
    tried = [(s.name, s.to) for s in links.present]
    for shape in shapes(both, tried, links.names):
        yield _diagnosis(shape, cut, findings, len(links.names))


def _cut(run: LinkRun) -> tuple[Message, Message | LinkError] | None:
    """A message of many packets that passed, and what was stuck on the same connection after it."""
    passed = [m for m in run.messages if m.ok and m.size_bytes >= LARGE_BYTES]
    lost: list[Message | LinkError] = [m for m in run.messages if not m.ok and m.size_bytes > LARGE_BYTES]
    stuck = lost or [e for e in run.errors if e.outcome == "silent" and "acknowledged" in e.error]
    if not passed or not stuck or black_hole(run) or run.throughputs:
        return None
    return max(passed, key=lambda m: m.size_bytes), stuck[0]


def _unwell(collectives: Collectives | None) -> set[str]:
    """Nodes that did not answer later, either: their connections end for another reason."""
    if collectives is None:
        return set()
    after = collectives.after
    unreached = {p.target for p in after.probes if not p.connected}
    return {name for name, how in after.ended.items() if how} | unreached


def _diagnosis(
    shape: Shape, cut: dict[Pair, tuple[Message, Message | LinkError]], findings: Findings, total: int
) -> Diagnosis:
    mine = [cut[p] for p in shape.pairs if p in cut]
    passed = max(m.size_bytes for m, _ in mine)
    names = shape.nodes or tuple(sorted(shape.involved))
    return Diagnosis(
        cause="network.connection_cut",
        certainty=Certainty.SUPPORTED,
        summary=f"Connections {shape.spell(total)} are cut after some bytes: messages up to {spell_bytes(passed)} "
        "pass, then the same connection carries nothing more, while the ports still connect.",
        subjects=tuple(node(n) for n in shape.nodes) or tuple(link(a, b) for a, b in shape.pairs),
        evidence=tuple(_evidence(mine[:MOST])),
        explains=tuple(
            dict.fromkeys(
                (*bad(findings, "LNK001", "LNK002", "LNK003", about={link(a, b) for a, b in shape.pairs}),
                 *stopped(findings))
            )
        ),
        repair=Repair.CHANGE_NETWORK_RULE,
        commands=tuple(
            on(n, "iptables-save -c | grep -iE 'connbytes|quota'; nft list ruleset")
            for n in names[:MOST_NODES]
        ),
        next_observation="After how many bytes, and whether a new connection works: iperf3 -n 64M between the two.",
    )  # fmt: skip


def _evidence(found: list[tuple[Message, Message | LinkError]]) -> Iterator[Evidence]:
    for passed, stuck in found:
        yield passed.evidence
        yield stuck.evidence if isinstance(stuck, Message) else stuck.record.evidence(stuck.error)
