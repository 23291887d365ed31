"""How links compare: the measurements of a run, judged against each other and the plan's floor."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gonogo.facts.links import Links
from gonogo.kernel import parser
from gonogo.links.judge import Judgement, Sample, Verdict, judge
from gonogo.model import Subject, link, node
from gonogo.plan import Plan

MUCH = 0.5
"""A loss that a slow node's link has on top of its node's, to be a fault of its own."""

NOISY = 0.5
"""A threshold from which on a run is too noisy for what is near to it."""

CLEAR = 0.05
"""How far beyond such a threshold a loss must be."""


@dataclass(frozen=True, slots=True)
class LinkRates:
    """What links carried, judged; `fastest_gbps` bounds what collectives can reach, 0 where nothing was told."""

    judgement: Judgement
    fastest_gbps: float


@parser
def link_rates(links: Links, plan: Plan) -> LinkRates:
    """Against each other, and the plan's floor."""
    told = links.throughputs()
    samples = [Sample(t.source, t.target, t.gbps, t.slices_gbps, t.waits) for t in told]
    found = _settled(judge(links.names, samples, plan.expect.link_gbps))
    return LinkRates(found, max((t.gbps for t in told), default=0.0))


def latencies(links: Links) -> Judgement:
    """Of round trips, as their reciprocals, 1/s: greater is better."""
    medians = {(s.name, s.to): run.latency.p50_seconds for s, run in links.present.items() if run.latency}
    return judge(links.names, [Sample(a, b, 1 / seconds) for (a, b), seconds in medians.items() if seconds > 0])


def _settled(found: Judgement) -> Judgement:
    """Without verdicts on links of a slow node that lose little more than it does: that is the node, once again."""
    slow = {v.source for v in found.verdicts if v.kind == "node"}
    kept = (v for v in found.verdicts if v.kind == "node" or not slow & {v.source, v.target} or v.loss >= MUCH)
    return replace(found, verdicts=tuple(kept))


def doubtful(verdict: Verdict) -> bool:
    """A warning and no fault: so near to the threshold of so noisy a run, or slower than its peers as its CPU was busy.

    A floor of the plan is missed whatever the reason.
    """
    return (verdict.starved and verdict.against == "peers") or (verdict.threshold >= NOISY and verdict.margin < CLEAR)


def blamed(judgement: Judgement, subject: Subject) -> Verdict | None:
    """The verdict that makes this subject slow: a slow node slows its links in its bad direction.

    One that is slower than its peers goes before one that misses a floor as they do.
    """
    about = [v for v in judgement.verdicts if _is_about(v, subject)]
    return min(about, key=lambda v: v.against != "peers", default=None)


def _is_about(v: Verdict, subject: Subject) -> bool:
    if v.kind == "node":
        sends, receives = v.way in ("both", "out"), v.way in ("both", "in")
        of_node = (sends and subject.name == v.source) or (receives and subject.to == v.source)
        return subject == node(v.source) or (subject.kind == "link" and of_node)
    return subject == link(v.source, v.target) or (v.kind == "link" and subject == link(v.target, v.source))


def spell(verdict: Verdict) -> str:
    """node2, or node1 -> node2."""
    return verdict.source if verdict.kind == "node" else f"{verdict.source} -> {verdict.target}"
