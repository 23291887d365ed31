"""Every node takes as many connections at once as the job opens.

## Why it matters
One connection after the other may pass where many together don't: the rendezvous works, and the mesh of connections
hangs while it is made, on larger jobs first.

## Usual causes
- a full table of tracked connections on the node or on the way
- a rule that limits connections (connlimit), or a load balancer's or proxy's quota

## Fix
Raise net.netfilter.nf_conntrack_max or the rule's limit where the connections end that were kept out.

## Source
https://docs.kernel.org/networking/nf_conntrack-sysctl.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.network.pairs import need_pairs
from gonogo.facts.again import Again
from gonogo.facts.ports import Ports
from gonogo.kernel import check
from gonogo.model import Finding, Status, link


@check("NET008")
def many_connections(ports: Ports, again: Again) -> Iterator[Finding]:
    """One finding for each ordered pair: whether what was kept out among many connects alone; NET002 tells the rest."""
    need_pairs(ports)
    for source, target in ports.pairs():
        probes = ports.probes(source, target)
        reached = [p for p in probes if p.connected]
        late = [p for p in again.limited(ports) if (p.source, p.target) == (source, target)]
        held = f"{source} holds {len(reached)} of {len(probes)} connections to {target} at once"
        shown = tuple(p.evidence for p in (late or reached)[:3])
        if late:
            yield Finding(
                Status.FAIL, link(source, target), f"{held}; {len(late)} more connect when tried alone.",
                len(reached), len(probes), "connections", evidence=shown,
            )  # fmt: skip
        elif reached and len(reached) == len(probes):
            yield Finding(Status.OK, link(source, target), f"{held}.", len(reached), len(probes), evidence=shown)
        else:
            yield Finding(Status.SKIP, link(source, target), f"{held}; what keeps the others out is NET002's to tell.")
