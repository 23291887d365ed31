"""A node's address is rewritten on the way to its peers.

## What is wrong
Peers see another address than the node's own: something on the way, or on the node itself, translates sources (SNAT,
masquerading). Connections pass; rules that allow nodes by their address or group don't match, and whoever dials back
what it saw reaches somebody else.

## Fix
Exclude traffic between the nodes from translation: for the VPC CNI AWS_VPC_K8S_CNI_EXTERNALSNAT or its excluded CIDRs,
elsewhere the nat table's POSTROUTING rules.
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST, addresses, on
from gonogo.causes.consequences import bad
from gonogo.facts.identities import Identities
from gonogo.facts.ports import Ports, Probe
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Evidence, Repair, link


@cause("network.address_rewritten")
def address_rewritten(findings: Findings, ports: Ports, identities: Identities) -> Iterator[Diagnosis]:
    """One diagnosis for each node whose peers see an address that it does not have."""
    for subject, told in ports.present.items():
        identity = identities.of(subject.name)
        own = identity.addresses if identity else ()
        foreign = [p for p in told.probes if p.connected and own and p.seen_from and p.seen_from not in own]
        if foreign:
            seen = ", ".join(dict.fromkeys(p.seen_from for p in foreign))
            by = tuple(dict.fromkeys(p.target for p in foreign))
            yield Diagnosis(
                cause="network.address_rewritten",
                certainty=Certainty.ESTABLISHED,
                summary=f"{subject.name}'s address {own[0]} becomes {seen} on the way to {', '.join(by)}.",
                subjects=(subject,),
                evidence=tuple(_seen(p) for p in foreign[:MOST]),
                explains=bad(findings, "NET005", about={link(subject.name, target) for target in by}),
                repair=Repair.CHANGE_NETWORK_CONFIG,
                commands=(
                    on(subject.name, "iptables -t nat -S POSTROUTING"),
                    on(
                        subject.name,
                        f"iptables -t nat -I POSTROUTING -d {','.join(addresses(identities, by))} -j ACCEPT",
                    ),
                ),
                next_observation=f"Where it happens: the nat table of {subject.name} first, then the gateways between.",
            )


def _seen(probe: Probe) -> Evidence:
    return probe.record.evidence(f"{probe.target} sees {probe.source} as {probe.seen_from}")
