"""The firewall of every node has room to keep track of more connections.

## Why it matters
A firewall with state remembers each connection. When its table is full, it drops new ones: what runs goes on, and the
next job's connections time out at random.

## Usual causes
- a node with a small nf_conntrack_max and many short connections (health checks, proxies)
- pods of other jobs on the same node

## Fix
`sysctl -w net.netfilter.nf_conntrack_max=…`, or do not track traffic between the nodes (the raw table's NOTRACK).

## Source
https://docs.kernel.org/networking/nf_conntrack-sysctl.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.nodes import Nodes
from gonogo.kernel import check
from gonogo.model import Finding, Status

FULL, NEARLY = 0.95, 0.8


@check("LIM005")
def tracked_connections(nodes: Nodes) -> Iterator[Finding]:
    """Fails where the table is full but for a twentieth, warns from four fifths on; a skip where nothing is tracked."""
    for subject, info in nodes.present.items():
        quota = info.room.tracked
        if not quota.is_told:
            yield Finding(Status.UNKNOWN, subject, f"{info.name} did not tell what its firewall keeps track of.")
            continue
        if not quota.limit or quota.used is None:
            yield Finding(Status.SKIP, subject, f"{info.name} keeps track of no connections.")
            continue
        share = quota.used / quota.limit
        yield Finding(
            Status.FAIL if share >= FULL else Status.WARN if share >= NEARLY else Status.OK,
            subject,
            f"{info.name} keeps track of {quota.used} of at most {quota.limit} connections ({share:.0%}).",
            measured=quota.used,
            expected=int(quota.limit * NEARLY),
            unit="connections",
            threshold_source="four fifths of the table",
            evidence=(info.record.evidence(f"{info.name}: conntrack {quota.used} of {quota.limit}"),),
        )
