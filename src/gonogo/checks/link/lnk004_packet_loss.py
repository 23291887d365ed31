"""No link loses packets.

## Why it matters
TCP hides loss: everything arrives, late. Each loss costs a collective up to 200 ms, on all ranks, and the next one
finds a slower stream.

## Usual causes
- a bad cable, transceiver or port; its error counters rise
- a switch or virtual adapter that drops because its queue is full, or an instance beyond its packet allowance
- frames that arrive with wrong checksums (InCsumErrors)

## Fix
`ethtool -S eth0 | grep -iE 'drop|err|exceeded'` and `nstat -az TcpRetransSegs TcpInCsumErrors` on the node that is
named; on AWS the counters of the ENA driver say which allowance was exceeded.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-network-performance-ena.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.links import Links
from gonogo.facts.loss import BUSY, Losses
from gonogo.kernel import check
from gonogo.model import Figure, Finding, Status


@check("LNK004")
def packet_loss(links: Links, losses: Losses) -> Iterator[Finding | Figure]:
    """One finding for each direction that carried a stream; of the others LNK002 speaks."""
    for subject in links.present:
        loss = losses.links.get(subject)
        name = f"{subject.name} -> {subject.to}"
        if loss is None:
            yield Finding(Status.SKIP, subject, f"{name} carried no stream (LNK002 says why).")
            continue
        yield Figure("link_resent", loss.ratio, "ratio", subject)
        busy = f" of ends that had no CPU for {loss.waits:.0%} of the time" if loss.waits >= BUSY else ""
        yield Finding(
            Status.FAIL if loss.is_lossy else Status.WARN if loss.is_doubtful else Status.OK,
            subject,
            f"{name} had to send {loss.resent} of {loss.segments} segments again ({loss.ratio:.2%}), "
            f"less than {loss.bar:.0%} expected{busy}{': measure again on idle nodes' if loss.is_doubtful else ''}.",
            measured=round(loss.ratio, 6),
            expected=loss.bar,
            unit="ratio",
            threshold_source="what costs TCP much of its throughput",
            evidence=(loss.worst.record.evidence(f"{name}: {loss.worst.retransmits} segments resent in one stream"),),
        )
