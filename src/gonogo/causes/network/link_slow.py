"""A node or link is far below its peers, or below its floor.

## What is wrong
Nothing is blocked and nothing is lost; this node, link or direction just carries less than the others. All ranks see
the same slow collectives, so only measured pairs can name it.

## Fix
Look for resent packets, a lower link rate or a traffic shaper on the node that is named; take it out of the job until
it is mended. On AWS, stopping and starting an instance moves it to another host.
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import on
from gonogo.causes.consequences import bad
from gonogo.facts.links import Links, Throughput
from gonogo.facts.nodes import Nodes
from gonogo.facts.speeds import LinkRates, blamed, doubtful
from gonogo.kernel import Findings, cause
from gonogo.links.judge import Verdict
from gonogo.model import Certainty, Diagnosis, Evidence, FindingKey, Repair, Subject, link, node

CLEAR = 0.10
"""A loss that is beyond the threshold by this much is no matter of noise."""


@cause("network.link_slow")
def link_slow(findings: Findings, links: Links, rates: LinkRates, nodes: Nodes | None) -> Iterator[Diagnosis]:
    """One diagnosis for each verdict on a node, link or direction."""
    found = rates.judgement
    for verdict in (v for v in found.verdicts if not doubtful(v)):
        subject = node(verdict.source) if verdict.kind == "node" else link(verdict.source, verdict.target)
        slow = [s for s in links.present if blamed(found, s) == verdict]
        measured = [t for s in slow for t in links_of(links, s)]
        yield Diagnosis(
            cause="network.link_slow",
            certainty=Certainty.ESTABLISHED if verdict.margin >= CLEAR else Certainty.SUPPORTED,
            summary=_summary(verdict),
            subjects=(subject,),
            evidence=tuple(_evidence(measured, links, slow)),
            explains=_explains(findings, [subject, *slow]),
            # below a floor all may be alike: then no node is to blame
            repair=Repair.REPLACE_NODE if (verdict.kind, verdict.against) == ("node", "peers") else Repair.INSPECT,
            commands=tuple(_commands(verdict, nodes)),
            next_observation="Whether it stays: measure again with `gonogo verify --only link --level deep`.",
        )


def links_of(links: Links, subject: Subject) -> tuple[Throughput, ...]:
    """What was measured of one direction."""
    run = links.present.get(subject)
    return run.throughputs if run else ()


def _who(verdict: Verdict) -> str:
    if verdict.kind == "node":
        ways = {"both": "in both directions", "out": "outwards", "in": "inwards"}
        return f"{verdict.source}, {ways[verdict.way]}, with every peer,"
    if verdict.kind == "link":
        return f"The link between {verdict.source} and {verdict.target}, in both directions,"
    return f"The direction from {verdict.source} to {verdict.target}"


def _summary(v: Verdict) -> str:
    carries = f"{_who(v)} carries {v.measured:.3g} Gbit/s"
    if v.against == "floor":
        return f"{carries} where the plan expects {v.expected:.3g}: {v.loss:.0%} less."
    return (
        f"{carries} where its peers carry {v.expected:.3g}: {v.loss:.0%} less; "
        f"from {v.threshold:.0%} on it is more than this run's noise."
    )


def _evidence(measured: list[Throughput], links: Links, slow: list[Subject]) -> Iterator[Evidence]:
    """The slow ones, and the best of those that have no part in it."""
    others = [t for s in links.present if s not in slow for t in links_of(links, s)]
    for t in [*sorted(measured, key=lambda t: t.gbps)[:4], *sorted(others, key=lambda t: -t.gbps)[:1]]:
        resent = f", {t.retransmits} retransmits" if t.retransmits is not None else ""
        yield t.record.evidence(f"{t.source} -> {t.target}: {t.gbps:.3g} Gbit/s in round {t.round}{resent}")


def _explains(findings: Findings, subjects: list[Subject]) -> tuple[FindingKey, ...]:
    """The links themselves; a collective below its floor and a late round trip are as slow as they are."""
    direct = bad(findings, "LNK002", "LNK003", about=set(subjects))
    return tuple(dict.fromkeys((*direct, *bad(findings, "COL004", "TRN004"))))


def _commands(verdict: Verdict, nodes: Nodes | None) -> Iterator[str]:
    for name in [n for n in (verdict.source, verdict.target) if n]:
        info = nodes.present.get(node(name)) if nodes else None
        interfaces = [i.name for i in info.interfaces if i.name != "lo" and i.up] if info else []
        for interface in interfaces[:1]:
            yield on(name, f"ethtool {interface} | grep -E 'Speed|Duplex'; tc -s qdisc show dev {interface}")
        yield on(name, "nstat -az TcpRetransSegs TcpExtTCPTimeouts")
