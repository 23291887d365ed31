"""Small messages take much longer on some links than on the others, at a normal throughput.

## What is wrong
The path to a node is longer, or something on it holds packets up. Long streams hide it; an all_reduce, which waits for
its neighbours in each of its steps, pays it every time.

## Fix
Bring the nodes into one zone and placement group. Within one, look for a proxy, an overlay or a busy node on the way.
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST, addresses, on
from gonogo.causes.consequences import bad
from gonogo.facts.identities import Identities
from gonogo.facts.links import Latency, Links
from gonogo.facts.shapes import Shape, shapes
from gonogo.facts.speeds import LinkRates, blamed, doubtful
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Repair, link, node


@cause("network.latency_high")
def latency_high(
    findings: Findings, links: Links, rates: LinkRates, identities: Identities | None
) -> Iterator[Diagnosis]:
    """One diagnosis for each node or set of links; where bytes are slow, too, it is network.link_slow's to tell."""
    told = {(s.name, s.to): run.latency for s, run in links.present.items() if run.latency}
    blame = {f.subject: blamed(rates.judgement, f.subject) for f in findings.failed("LNK003")}
    late = [subject for subject, verdict in blame.items() if verdict is None or doubtful(verdict)]
    pairs = {(s.name, s.to) for s in late} & set(told)
    for shape in shapes(pairs, told, links.names):
        yield _diagnosis(shape, told, findings, identities, len(links.names))


def _diagnosis(
    shape: Shape, told: dict[tuple[str, str], Latency], findings: Findings, identities: Identities | None, total: int
) -> Diagnosis:
    slow = [told[pair] for pair in shape.pairs]
    others = [latency.p50_seconds for pair, latency in told.items() if pair not in shape.pairs]
    usual = f", elsewhere {min(others) * 1e3:.3g} to {max(others) * 1e3:.3g} ms" if others else ""
    best, worst = min(x.p50_seconds for x in slow) * 1e3, max(x.p50_seconds for x in slow) * 1e3
    names = shape.nodes or tuple(sorted(shape.involved))
    return Diagnosis(
        cause="network.latency_high",
        certainty=Certainty.ESTABLISHED,
        summary=f"Round trips {shape.spell(total)} take {best:.3g} to {worst:.3g} ms{usual}.",
        subjects=tuple(node(n) for n in shape.nodes) or tuple(link(a, b) for a, b in shape.pairs),
        evidence=tuple(
            told[a, b].record.evidence(f"{a} -> {b} and back: median {told[a, b].p50_seconds * 1e3:.3g} ms")
            for a, b in shape.pairs[:MOST]
        ),
        explains=bad(findings, "LNK003", about={link(a, b) for a, b in shape.pairs}),
        repair=Repair.INSPECT,
        commands=tuple(on(f"a peer of {names[0]}", f"tracepath -n {a}") for a in addresses(identities, names[:1]))
        or (on(names[0], "uptime"),),
        next_observation="Whether the path or the node is late: its load, and round trips from another host.",
    )
