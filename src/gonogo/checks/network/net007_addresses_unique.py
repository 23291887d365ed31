"""Each node's address is its own, and its neighbours know where it is.

## Why it matters
Where two machines claim one address, or a neighbour keeps an entry of a machine that is gone, packets go to the wrong
one: connections time out, or reach a stranger, between some nodes and not others.

## Usual causes
- an address given by hand that the network also gives to others
- a machine that was replaced, and a permanent entry for its predecessor

## Fix
`ip addr show` on both nodes, and `ip neigh show` on the one that takes it wrong; then `ip neigh flush all`.

## Source
https://www.rfc-editor.org/rfc/rfc5227
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.claims import Claims
from gonogo.facts.nodes import Nodes
from gonogo.kernel import check
from gonogo.model import Finding, Status


@check("NET007")
def addresses_unique(nodes: Nodes, claims: Claims) -> Iterator[Finding]:
    """One finding a node: whether it claims an address of another one, or takes another to be where it isn't."""
    for subject, info in nodes.present.items():
        claimed = [c for c in claims.twice if c.claimant.name == info.name]
        stale = [s for s in claims.stale if s.observer == info.name]
        if not info.local_addresses:
            yield Finding(Status.UNKNOWN, subject, f"{info.name} did not tell all of its addresses.")
            continue
        said = [f"claims {c.address}, which is {c.owner.name}'s" for c in claimed]
        said += [f"takes {s.address} to be at {s.mac}, while {s.peer} has {s.own_mac}" for s in stale]
        mine = sorted(a for a in info.local_addresses if not a.startswith("127."))
        own = (
            (info.record.evidence(f"own addresses of {info.name}: {', '.join(mine)}"),) if claimed or not stale else ()
        )
        seen = tuple(s.record.evidence(f"{info.name} knows {s.address} at {s.mac}") for s in stale)
        yield Finding(
            Status.FAIL if said else Status.OK,
            subject,
            f"{info.name} {'; '.join(said) if said else 'claims no other address than its own'}.",
            measured=len(said),
            expected=0,
            evidence=(*own, *seen),
        )
