"""A node or link loses packets.

## What is wrong
What is lost TCP sends again, so that nothing fails and everything takes longer: streams are slow, and single
collectives take 200 ms more than others.

## Fix
Find where: error and drop counters of the adapter and the switch port of the node that is named. A wrong checksum
(InCsumErrors) is a fault of memory or of a cable. Take the node out until it is mended.

## Source
https://www.rfc-editor.org/rfc/rfc6298
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gonogo.causes.commands import MOST, MOST_NODES, on
from gonogo.causes.consequences import bad, touches
from gonogo.facts.links import Links
from gonogo.facts.loss import Damage, Loss, Losses
from gonogo.facts.nodes import Nodes
from gonogo.facts.shapes import Pair, Shape, shapes
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, FindingKey, Repair, link, node

PART = 0.25
"""Of the lost segments: so many with wrong checksums are what the loss is made of."""


@cause("network.packet_loss", refines=("network.link_slow", "network.latency_high", "network.connections_limited"))
def packet_loss(findings: Findings, links: Links, losses: Losses, nodes: Nodes | None) -> Iterator[Diagnosis]:
    """One diagnosis for each node or set of links; one that is slow for it isn't slow by itself."""
    told: dict[Pair, Loss] = {(s.name, s.to): loss for s, loss in losses.links.items()}
    lossy = {pair for pair, loss in told.items() if loss.is_lossy}
    tried = lossy | {pair for pair, loss in told.items() if loss.is_clear}
    for shape in shapes(lossy, tried, links.names):
        yield _diagnosis(shape, told, losses, findings, nodes, len(links.names))


def _diagnosis(
    shape: Shape, told: dict[Pair, Loss], losses: Losses, findings: Findings, nodes: Nodes | None, total: int
) -> Diagnosis:
    mine = sorted((told[p] for p in shape.pairs), key=lambda loss: -loss.ratio)
    others = [loss.ratio for pair, loss in told.items() if pair not in shape.pairs]
    usual = f", elsewhere {max(others):.2%} at most" if others else ""
    names = shape.nodes or tuple(sorted(shape.involved))
    damage = _damage(shape, told, losses)
    came = ", ".join(f"{d.segments} at {name}" for name, d in damage.items())
    return Diagnosis(
        cause="network.packet_loss",
        certainty=Certainty.ESTABLISHED,
        summary=f"Packets are lost {shape.spell(total)}: {mine[-1].ratio:.1%} to {mine[0].ratio:.1%} of all segments "
        f"had to be sent again{usual}{f'; they arrive damaged, with wrong checksums: {came}' if damage else ''}.",
        subjects=tuple(node(n) for n in shape.nodes) or tuple(link(a, b) for a, b in shape.pairs),
        evidence=tuple(
            loss.worst.record.evidence(
                f"{loss.worst.source} -> {loss.worst.target}: {loss.resent} of {loss.segments} segments resent"
            )
            for loss in mine[:MOST]
        )
        + tuple(
            d.record.evidence(f"{n} dropped {d.segments} segments with wrong checksums") for n, d in damage.items()
        ),
        explains=_explains(findings, shape),
        repair=Repair.REPLACE_NODE if shape.nodes else Repair.INSPECT,
        commands=tuple(
            on(name, f"ip -s link show dev {_interface(nodes, name)}; nstat -az TcpRetransSegs TcpInCsumErrors")
            for name in names[:MOST_NODES]
        ),
        next_observation="Which part damages them: cable, adapter or memory; the adapter's error counters."
        if damage
        else "Whether a queue is full or a part is broken: the drop and error counters of adapter and switch port.",
    )


def _damage(shape: Shape, told: dict[Pair, Loss], losses: Losses) -> dict[str, Damage]:
    """Where these links end, what came with wrong checksums, if that is a good part of what was lost there."""
    lost = Counter[str]()
    for source, target in shape.pairs:
        lost[target] += told[source, target].resent
    return {
        name: damage
        for name, count in lost.items()
        if (damage := losses.damage.get(name)) and damage.segments >= PART * count
    }


def _explains(findings: Findings, shape: Shape) -> tuple[FindingKey, ...]:
    """Both ways of these links: acknowledgements get lost, too; and what is slow of a node that loses.

    Where what asks for a connection got lost each time, the port looks closed, and open at a second try.
    """
    both = {link(a, b) for a, b in shape.pairs} | {link(b, a) for a, b in shape.pairs}
    direct = bad(findings, "LNK002", "LNK003", "LNK004", about=both)
    second = {f.subject for f in findings.failed("NET008")} & both
    asked = bad(findings, "NET001", "NET002", "NET008", about=second)
    heart = shape.nodes or _shared(shape)
    of_node = [key for key in bad(findings, "LNK002", "LNK003", "LNK004") if heart and touches(key.subject, heart)]
    return tuple(dict.fromkeys((*direct, *of_node, *asked, *bad(findings, "COL004", "TRN004"))))


def _shared(shape: Shape) -> tuple[str, ...]:
    """The node that all lossy links have in common: it is slow for them, even if one of its links lost little."""
    common = set.intersection(*(set(pair) for pair in shape.pairs))
    return tuple(common) if len(common) == 1 else ()


def _interface(nodes: Nodes | None, name: str) -> str:
    info = nodes.present.get(node(name)) if nodes else None
    return next((i.name for i in info.interfaces if i.name != "lo" and i.up), "eth0") if info else "eth0"
