"""Each node is seen by its peers under an address of its own.

## Why it matters
Where an address is rewritten on the way, rules that name nodes by address or group miss, and a peer that dials back
what it saw reaches somebody else. Training may pass at first and fail with the next rule or the next node.

## Usual causes
- source NAT of pod traffic to a peered network (the VPC CNI's default outside the VPC)
- masquerading rules of a host firewall or a proxy

## Fix
Switch the rewriting off between the nodes, such as AWS_VPC_K8S_CNI_EXTERNALSNAT=true or excluded CIDRs.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/external-snat.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.network.pairs import need_pairs
from gonogo.facts.identities import Identities
from gonogo.facts.ports import Ports
from gonogo.kernel import check
from gonogo.model import Finding, Status, link


@check("NET005")
def addresses_unchanged(ports: Ports, identities: Identities) -> Iterator[Finding]:
    """One finding for each ordered pair: the address that the target saw, against the source's own."""
    need_pairs(ports)
    for source, target in ports.pairs():
        subject = link(source, target)
        connected = [p for p in ports.probes(source, target) if p.connected]
        seen = {p.seen_from: p for p in connected if p.seen_as}
        identity = identities.of(source)
        own = identity.addresses if identity else ()
        if not connected:
            yield Finding(Status.SKIP, subject, f"{target} never saw {source}: waits for NET001.")
            continue
        if not seen or not own:
            missing = (
                f"{target} did not tell how it saw {source}" if not seen else f"{source} did not tell its addresses"
            )
            yield Finding(Status.UNKNOWN, subject, f"{missing}.", evidence=(connected[0].evidence,))
            continue
        foreign = {address: p for address, p in seen.items() if address not in own}
        address, probe = next(iter((foreign or seen).items()))
        yield Finding(
            Status.FAIL if foreign else Status.OK,
            subject,
            f"{target} sees {source} as {address}, {source}'s own {'is' if foreign else 'being'} {own[0]}.",
            measured=address,
            expected=own[0],
            evidence=(probe.record.evidence(f"{target} saw {source} as {address}"),),
        )
