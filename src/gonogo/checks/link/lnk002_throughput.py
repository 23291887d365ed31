"""Every node and link carries as much as its peers do, or as the plan expects.

## Why it matters
A collective runs at the speed of its slowest link, on all ranks: one slow node slows the whole job, and every rank
shows the same slow number.

## Usual causes
- a cable, port or adapter that runs at a lower rate, or resends a lot
- an instance that shares its host's network, or is of another size
- a traffic shaper, or a neighbour that takes the bandwidth

## Fix
Take the node that is named out of the job and measure again; on AWS, stop and start it to get another host.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.links import LinkRun, Links
from gonogo.facts.speeds import LinkRates, blamed, doubtful, spell
from gonogo.kernel import check
from gonogo.links.judge import Judgement, Verdict
from gonogo.model import CLUSTER, Evidence, Figure, Finding, Status, Subject, node
from gonogo.plan import Plan


@check("LNK002")
def throughput(links: Links, rates: LinkRates, plan: Plan) -> Iterator[Finding | Figure]:
    """One finding for each node and each measured direction; without a floor or three peers a figure and a skip."""
    found, floor = rates.judgement, plan.expect.link_gbps
    yield from _figures(links, found)
    for name, (out, into) in found.scores.items():
        yield _of_node(node(name), out, into, found, floor, links)
    yield from _unplanned(links)
    for subject, run in links.present.items():
        yield _of_link(subject, run, found, floor)


def _unplanned(links: Links) -> Iterator[Finding]:
    """A level that pairs each node with some others proves nothing of the links between the rest."""
    left, total = links.possible - len(links), links.possible
    if links.plan and left > 0:
        text = f"{left} of {total} directions are not measured at this level: a slow link among them would not be seen"
        yield Finding(Status.SKIP, CLUSTER, f"{text}; --level deep pairs every node with every other.", left, 0)


def _figures(links: Links, found: Judgement) -> Iterator[Figure]:
    for subject, run in links.present.items():
        if run.throughputs:
            yield Figure("link_throughput", max(t.gbps for t in run.throughputs), "Gbit/s", subject)
    if found.judged and found.measured:
        yield Figure("link_coverage", found.measured / max(1, found.possible), "ratio")
        yield Figure("smallest_visible_node_loss", found.node_threshold, "ratio")
        yield Figure("smallest_visible_link_loss", found.link_threshold, "ratio")
        yield Figure("smallest_link_margin", found.margin, "ratio")


def _status(found: Judgement, subject: Subject) -> Status:
    if not found.judged:
        return Status.SKIP
    verdict = blamed(found, subject)
    if verdict is None:
        return Status.OK
    return Status.WARN if doubtful(verdict) else Status.FAIL


def _why(verdict: Verdict | None) -> str:
    if verdict is None or not verdict.starved:
        return ""
    return f"; with a CPU at every moment it might have carried {verdict.most:.3g}: measure again on idle nodes"


def _against(
    found: Judgement, subject: Subject, threshold: float, floor: float | None
) -> tuple[str, float | None, str]:
    """What is expected, in words, as a number, and whence: the plan's floor, unless the peers say it is slow."""
    verdict = blamed(found, subject)
    if not found.judged:
        return "with neither a floor nor three peers to hold it against", None, ""
    if floor is not None and (verdict is None or verdict.against == "floor"):
        return f"{floor:.3g} at least expected by the plan", floor, "plan"
    expected = verdict.expected if verdict else found.expected
    return f"{expected:.3g} expected of its peers, a loss of {threshold:.0%} would show", expected, "peers"


def _of_node(subject: Subject, out: float, into: float, found: Judgement, floor: float | None, links: Links) -> Finding:
    text, expected, source = _against(found, subject, found.node_threshold, floor)
    mine = [t for t in links.throughputs() if subject.name in (t.source, t.target)]
    best = max(mine, key=lambda t: t.gbps, default=None)
    evidence = _evidence(best.source, best.target, LinkRun(throughputs=(best,))) if best else ()
    why = _why(blamed(found, subject))
    return Finding(
        _status(found, subject),
        subject,
        f"{subject.name} sends {out:.3g} and receives {into:.3g} Gbit/s at its best, {text}{why}.",
        measured=round(min(out, into), 4),
        expected=expected,
        unit="Gbit/s",
        threshold_source=source,
        evidence=evidence,
    )


def _of_link(subject: Subject, run: LinkRun, found: Judgement, floor: float | None) -> Finding:
    called = f"{subject.name} -> {subject.to}"
    if not run.throughputs:
        reason = run.errors[0].error or run.errors[0].outcome if run.errors else "no receiver told a throughput"
        return Finding(Status.UNKNOWN, subject, f"{called} was not measured: {reason}.")
    best = max(run.throughputs, key=lambda t: t.gbps)
    text, expected, source = _against(found, subject, found.link_threshold, floor)
    culprit = blamed(found, subject)
    blame = f" ({spell(culprit)} is slow)" if culprit and culprit.kind == "node" else ""
    return Finding(
        _status(found, subject),
        subject,
        f"{called} carries {best.gbps:.3g} Gbit/s, {text}{blame}{_why(culprit)}.",
        measured=round(best.gbps, 4),
        expected=expected,
        unit="Gbit/s",
        threshold_source=source,
        evidence=_evidence(subject.name, subject.to, LinkRun(throughputs=(best,))),
    )


def _evidence(source: str, target: str, run: LinkRun) -> tuple[Evidence, ...]:
    return tuple(
        t.record.evidence(f"{source} -> {target}: {t.gbps:.3g} Gbit/s in round {t.round}") for t in run.throughputs
    )
