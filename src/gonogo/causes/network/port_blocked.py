"""Ports are blocked between nodes, by a rule that is not known.

## What is wrong
Packets to these ports are dropped (no answer at all) or rejected (refused at once) although the peer listens there.
A security group, a network policy, a network ACL or a node's own firewall can do it; gonogo sees the effect, not the
rule, unless it can also read those.

## Fix
Let TCP in on all ports between the nodes. `nft -a list ruleset` shows a node's own firewall. `iptables -I INPUT -p tcp
--dport PORT -j ACCEPT` goes before other rules of iptables; a drop in another table of nft holds all the same, until
`nft delete rule FAMILY TABLE CHAIN handle N` takes it out. Where packets don't even arrive, look at the rules on the
way.
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.filtering import counted, diagnosis
from gonogo.facts.blocked import Blocked, blocked
from gonogo.facts.identities import Identities
from gonogo.facts.ports import Ports
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis


@cause("network.port_blocked")
def port_blocked(findings: Findings, ports: Ports, identities: Identities | None) -> Iterator[Diagnosis]:
    """One diagnosis for each set of pairs and ports; what connects the other way round is network.one_way_blocked."""
    for found in blocked(ports):
        if not found.one_way:
            summary = f"{_capital(found.spelled)} {_verb(found.ports)} {found.how} {found.shape.spell(len(ports))}"
            yield diagnosis(
                "network.port_blocked",
                f"{summary}: {counted(found, len(ports))}{_well(found)}.",
                found,
                findings,
                identities,
            )


def _well(found: Blocked) -> str:
    others = sorted({p.port for p in found.open})
    return (
        f", while port {others[0]} connects"
        if len(others) == 1
        else f", while {len(others)} other ports connect"
        if others
        else ""
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _verb(ports: tuple[int, ...]) -> str:
    return "are" if len(ports) > 1 else "is"
