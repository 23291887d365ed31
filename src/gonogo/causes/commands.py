"""Commands to look and to mend, with this cluster's own names in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gonogo.facts.identities import Identities

MOST = 3
"""Nodes that are named in a sentence."""
MOST_NODES = 64
"""Nodes that commands are given for."""


def on(name: str, command: str) -> str:
    """A command that is meant for a node's shell."""
    return f"{command}  # on {name}"


def see_rules(names: Iterable[str]) -> tuple[str, ...]:
    """Where a node's own firewall would show."""
    return tuple(on(name, "nft list ruleset | grep -nE 'drop|reject'") for name in list(names)[:MOST_NODES])


def let_in(names: Iterable[str], port: int | None, peers: Iterable[str]) -> tuple[str, ...]:
    """Accept new connections of peers, by their addresses, before any other rule of a node's own firewall."""
    return _accept("INPUT", "-s", names, port, peers)


def let_out(names: Iterable[str], port: int | None, peers: Iterable[str]) -> tuple[str, ...]:
    """Accept new connections to peers."""
    return _accept("OUTPUT", "-d", names, port, peers)


def _accept(chain: str, flag: str, names: Iterable[str], port: int | None, peers: Iterable[str]) -> tuple[str, ...]:
    whom, where = ",".join(peers), f" --dport {port}" if port else ""
    if not whom:
        return ()
    return tuple(
        on(name, f"iptables -I {chain} -p tcp {flag} {whom}{where} -j ACCEPT") for name in list(names)[:MOST_NODES]
    )


def addresses(identities: Identities | None, names: Iterable[str]) -> list[str]:
    """The first address of each node that is known."""
    found = (identities.of(name) for name in names) if identities else iter(())
    return [identity.addresses[0] for identity in found if identity and identity.addresses]


def and_others(names: Iterable[str]) -> str:
    """node0, node1 and 3 more."""
    given = list(names)
    return ", ".join(given[:MOST]) + (f" and {len(given) - MOST} more" if len(given) > MOST else "")
