"""No node reaches the throughput that the plan expects.

## What is wrong
All nodes are alike, and all are below the plan's number. It is not one of them that is slow: the instance type has
less bandwidth than was planned for, single streams are limited (5 Gbit/s outside of a placement group, 10 within one),
or the number is that of another fabric, such as EFA, while TCP was measured.

## Fix
Compare expect.linkGbps with what the instance type has (`gonogo catalog TYPE`), and what carries the collectives with
what the number was measured on. Move the nodes into one placement group.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.consequences import bad
from gonogo.facts.links import Links
from gonogo.facts.speeds import LinkRates, blamed
from gonogo.kernel import Findings, cause
from gonogo.model import CLUSTER, Certainty, Diagnosis, Repair
from gonogo.plan import Plan

SHOWN = 3


@cause("network.below_plan", refines=("network.link_slow",))
def below_plan(findings: Findings, links: Links, rates: LinkRates, plan: Plan) -> Iterator[Diagnosis]:
    """At most one diagnosis, where every node misses the plan's floor; who is slower than its peers is named apart."""
    found, floor = rates.judgement, plan.expect.link_gbps
    slow = {v.source: v for v in found.verdicts if v.kind == "node"}
    alike = [v for v in slow.values() if v.against == "floor"]
    if floor is None or not found.scores or set(slow) != set(found.scores) or 2 * len(alike) <= len(found.scores):
        return
    least, best = min(v.measured for v in alike), max(v.measured for v in alike)
    shared = [
        f
        for f in findings.failed("LNK002")
        if (verdict := blamed(found, f.subject)) is not None and verdict.against == "floor"
    ]
    starved = max((v.most for v in alike if v.starved), default=0.0)
    busy = f" Their CPUs were busy: with one at every moment it might have been up to {starved:.3g}." if starved else ""
    fastest = sorted(links.throughputs(), key=lambda t: -t.gbps)[:SHOWN]
    yield Diagnosis(
        cause="network.below_plan",
        certainty=Certainty.ESTABLISHED,
        summary=f"None of {len(found.scores)} nodes carries the {floor:.3g} Gbit/s that the plan expects: {least:.3g} "
        f"to {best:.3g} at their best. No single node or link is to blame.{busy}",
        subjects=(CLUSTER,),
        evidence=tuple(t.record.evidence(f"{t.source} -> {t.target}: {t.gbps:.3g} Gbit/s") for t in fastest),
        explains=tuple(dict.fromkeys((*(f.key for f in shared), *bad(findings, "COL004")))),
        repair=Repair.INSPECT,
        commands=("gonogo catalog  # what the instance types have; then expect.linkGbps of the plan",),
        next_observation="Whether several streams carry more than one: iperf3 -P 8 between two of the nodes.",
    )
