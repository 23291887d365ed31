"""Two machines claim one address, or a neighbour takes it to be where it is no more.

## What is wrong
Packets for the address go now to one, now to the other: connections break at random, reach a stranger, or get no
answer, while other nodes reach the same peer.

## Fix
Give one of them another address, and flush the neighbours' entries (`ip neigh flush all`).

## Source
https://www.rfc-editor.org/rfc/rfc5227
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gonogo.causes.commands import on
from gonogo.causes.consequences import bad, waiting
from gonogo.facts.claims import Claim, Claims, Stale
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, FindingKey, Repair, link, node


@cause("network.address_conflict", refines=("network.port_blocked", "network.one_way_blocked"))
def address_conflict(findings: Findings, claims: Claims) -> Iterator[Diagnosis]:
    """One diagnosis for each address that is claimed twice; one for each stale entry whose pair doesn't connect."""
    for claim in claims.twice:
        yield _twice(claim, findings)
    claimed = {c.address for c in claims.twice}
    for stale in claims.stale:
        if stale.address not in claimed and _links(findings, [(stale.observer, stale.peer)]):
            yield _stale(stale, findings)


def _twice(claim: Claim, findings: Findings) -> Diagnosis:
    name, owner = claim.claimant.name, claim.owner.name
    others = {f.subject.name for f in findings if f.subject.kind == "link"} | {name, owner}
    pairs = [(a, b) for a in sorted(others) for b in (owner,) if a != b] + [(owner, name)]
    return Diagnosis(
        cause="network.address_conflict",
        certainty=Certainty.ESTABLISHED,
        summary=f"{name} and {owner} both claim {claim.address}, which is {owner}'s.",
        subjects=(node(name),),
        evidence=(
            claim.claimant.record.evidence(f"{name} has {', '.join(sorted(claim.claimant.local_addresses))}"),
            claim.owner.record.evidence(f"{owner} has {', '.join(sorted(claim.owner.local_addresses))}"),
        ),
        explains=_explained(findings, name, pairs, {name, owner}),
        repair=Repair.CHANGE_NETWORK_CONFIG,
        commands=(
            on(name, "ip -4 addr show"),
            on(name, f"ip addr del {claim.address}/32 dev <interface>"),
            "ip neigh flush all  # on the other nodes",
        ),
        next_observation=f"Who answers for it: `arping -D -c 3 {claim.address}` from a third node.",
    )


def _stale(stale: Stale, findings: Findings) -> Diagnosis:
    return Diagnosis(
        cause="network.address_conflict",
        certainty=Certainty.ESTABLISHED,
        summary=f"{stale.observer} takes {stale.address} to be at {stale.mac}, while {stale.peer}, whose it is, has "
        f"{stale.own_mac}: a stale entry, or another machine with that address.",
        subjects=(node(stale.observer),),
        evidence=(stale.record.evidence(f"{stale.observer} knows {stale.address} at {stale.mac}"),),
        explains=_explained(findings, stale.observer, [(stale.observer, stale.peer)], {stale.observer, stale.peer}),
        repair=Repair.CHANGE_NETWORK_CONFIG,
        commands=(
            on(stale.observer, f"ip neigh show {stale.address}"),
            on(stale.observer, f"ip neigh del {stale.address} dev <interface>"),
        ),
        next_observation=f"Who answers for it: `arping -c 3 {stale.address}` on {stale.observer}.",
    )


def _links(findings: Findings, pairs: Iterable[tuple[str, str]]) -> tuple[FindingKey, ...]:
    both = {link(a, b) for a, b in pairs} | {link(b, a) for a, b in pairs}
    return bad(findings, "NET001", "NET002", "NET004", "NET005", "LNK001", "LNK002", "LNK003", about=both)


def _explained(findings: Findings, name: str, pairs: list[tuple[str, str]], names: set[str]) -> tuple[FindingKey, ...]:
    direct = bad(findings, "NET007", about={node(name)})
    return tuple(dict.fromkeys((*direct, *_links(findings, pairs), *waiting(findings, names))))
