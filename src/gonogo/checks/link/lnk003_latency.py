"""Small messages take no longer on one link than on the others.

## Why it matters
An all_reduce of many steps pays the latency of its slowest link in each of them; bandwidth does not make up for it.

## Usual causes
- nodes in different availability zones, or outside the placement group
- a path over a proxy, a VPN or an overloaded switch
- a node whose processors are too busy to answer

## Fix
Bring the nodes into one placement group and zone; look at the load of the node that is named.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.links import LinkRun, Links
from gonogo.facts.speeds import blamed, latencies
from gonogo.kernel import check
from gonogo.links.judge import Judgement
from gonogo.model import Figure, Finding, Status, Subject

LEAST_EXCESS_SECONDS = 1e-3
"""A round trip that is longer by less is not worth a finding, and a busy processor does as much."""

LEAST_EXCESS = 0.5
"""Of the usual round trip: on a longer way, what is busy adds to it in proportion."""


@check("LNK003")
def latency(links: Links) -> Iterator[Finding | Figure]:
    """One finding for each measured direction, on the median round trip."""
    found = latencies(links)
    for subject, run in links.first_look.items():
        if run.latency:
            yield Figure("link_latency_p50", run.latency.p50_seconds, "seconds", subject)
            yield Figure("link_latency_p99", run.latency.p99_seconds, "seconds", subject)
        yield _judge(subject, run, found)


def _judge(subject: Subject, run: LinkRun, found: Judgement) -> Finding:
    name = f"{subject.name} -> {subject.to}"
    if not run.latency:
        reason = run.errors[0].error or run.errors[0].outcome if run.errors else "no round trip was told"
        return Finding(Status.UNKNOWN, subject, f"{name} was not measured: {reason}.")
    median = run.latency.p50_seconds
    usual = 1 / found.expected if found.expected else 0.0
    slow = blamed(found, subject) is not None and median - usual >= max(LEAST_EXCESS_SECONDS, LEAST_EXCESS * usual)
    judged = found.judged and usual > 0
    against = f"{usual * 1e3:.3g} ms with its peers" if judged else "with fewer than three peers to hold it against"
    return Finding(
        Status.SKIP if not judged else Status.FAIL if slow else Status.OK,
        subject,
        f"{name} and back takes {median * 1e3:.3g} ms (99 % within {run.latency.p99_seconds * 1e3:.3g} ms), {against}.",
        measured=round(median, 7),
        expected=round(usual, 7) if judged else None,
        unit="seconds",
        threshold_source="peers" if judged else "",
        evidence=(run.latency.record.evidence(f"{run.latency.samples} round trips, median {median * 1e3:.3g} ms"),),
    )
