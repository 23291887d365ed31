"""Which node claims which of the addresses that peers dial, and whom neighbours take to have them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gonogo.documents.records import PortsLog, Record
from gonogo.facts.fields import items, records, text
from gonogo.facts.identities import Identities
from gonogo.facts.nodes import NodeInfo, Nodes
from gonogo.kernel import parser
from gonogo.model import node


@dataclass(frozen=True, slots=True)
class Claim:
    """A node takes another node's address for its own."""

    address: str
    owner: NodeInfo
    claimant: NodeInfo


@dataclass(frozen=True, slots=True)
class Stale:
    """A node takes a peer's address to be at another hardware address than the peer's own, and others don't."""

    observer: str
    peer: str
    address: str
    mac: str
    own_mac: str  # the peer's
    record: Record


@dataclass(frozen=True, slots=True)
class Claims:
    """All that is contradictory."""

    twice: tuple[Claim, ...]
    stale: tuple[Stale, ...]


@parser
def claims(log: PortsLog, nodes: Nodes, identities: Identities) -> Claims:
    """Loopback addresses are everybody's own; the fabric of loopback addresses has nothing else."""
    dialled = {
        i.name: i.addresses[0] for i in identities.nodes if i.addresses and not i.addresses[0].startswith("127.")
    }
    infos = {name: info for name in log.nodes if (info := nodes.present.get(node(name)))}
    twice = (
        Claim(address, infos[owner], info)
        for owner, address in dialled.items()
        for name, info in infos.items()
        if owner in infos and name != owner and address in info.local_addresses
    )
    return Claims(tuple(twice), tuple(_stale(log, infos, dialled)))


def _stale(log: PortsLog, infos: dict[str, NodeInfo], dialled: dict[str, str]) -> list[Stale]:
    """Only where another peer knows the right one: a router or a proxy answers for addresses that aren't its own."""
    owners = {address: name for name, address in dialled.items()}
    seen: dict[str, list[Stale]] = {}
    for record in records(log, "ports", "neighbours"):
        for entry in items(record, "neighbours"):
            address = text(entry, "address") if isinstance(entry, dict) else ""
            peer = owners.get(address, "")
            info = infos.get(peer)
            own = next((i.mac for i in info.interfaces if i.address == address), "") if info else ""
            if own and peer != record.node:
                seen.setdefault(peer, []).append(Stale(record.node, peer, address, text(entry, "mac"), own, record))
    found = []
    for views in seen.values():
        counts = Counter(v.mac == v.own_mac for v in views)
        found += [v for v in views if v.mac != v.own_mac and counts[True]]
    return found
