"""Gloo is given, or chooses, an interface that cannot work.

## What is wrong
The variable names an interface that the node doesn't have, or one whose address no peer can dial; or the node's own
host name resolves to the loopback. The rendezvous passes, since the store doesn't use it, and the mesh fails.

## Fix
Name the interface that holds the node's own address, the same on all nodes, or unset the variable where host names
resolve to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gonogo.causes.commands import MOST, MOST_NODES, and_others, on
from gonogo.causes.consequences import bad, stopped
from gonogo.facts.collectives import Collectives
from gonogo.facts.endings import ranks_in
from gonogo.facts.gloo import VARIABLE, Choice, choice
from gonogo.facts.identities import Identities
from gonogo.facts.nodes import NodeInfo, Nodes
from gonogo.facts.ranks import Failure
from gonogo.facts.storage import Storage
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Evidence, Repair, node
from gonogo.plan import Plan

_NO_WAY = re.compile(r"Network is unreachable|No route to host")
"""What a rank says that dials an address of a network it has no route to."""


@cause("gloo.interface_wrong")
def interface_wrong(
    findings: Findings,
    nodes: Nodes,
    plan: Plan,
    collectives: Collectives | None,
    storage: Storage | None,
    identities: Identities | None,
) -> Iterator[Diagnosis]:
    """One diagnosis for all nodes that are told the same, or choose alike."""
    if plan.job.backend != "gloo":
        return
    wrong: dict[str, list[tuple[NodeInfo, Choice]]] = {}
    failed = _failures(collectives, storage)
    no_way = any(_NO_WAY.search(f.text) for f in failed)
    for info in nodes.present.values():
        chosen = choice(info, plan, identities)
        if not chosen.usable:
            wrong.setdefault(chosen.interface, []).append((info, chosen))
        elif no_way and chosen.interface and chosen.interface != _dialled(info, identities):
            elsewhere = replace(chosen, text=f"{chosen.text}, a network that does not lead to its peers")
            wrong.setdefault(chosen.interface, []).append((info, elsewhere))
    for interface, found in wrong.items():
        yield _diagnosis(interface, found, findings, failed, identities, len(nodes))


def _failures(collectives: Collectives | None, storage: Storage | None) -> list[Failure]:
    """What ranks said when they could not build their group, in the first step that builds one."""
    ranks = list(ranks_in(collectives).values()) if collectives else []
    if not ranks and storage:
        ranks = [entry.rank for entry in storage.present.values()]
    return [r.failure for r in ranks if r.failure and not r.init]


def _diagnosis(
    interface: str,
    found: list[tuple[NodeInfo, Choice]],
    findings: Findings,
    failed: list[Failure],
    identities: Identities | None,
    total: int,
) -> Diagnosis:
    names = [info.name for info, _ in found]
    says_so = [f for f in failed if interface and interface in f.text] or [f for f in failed if f.record.node in names]
    subjects = tuple(node(name) for name in names)
    explained = (
        *bad(findings, "GLO001", about=set(subjects)),
        *(stopped(findings) if failed or len(names) == total else ()),
    )
    return Diagnosis(
        cause="gloo.interface_wrong",
        certainty=Certainty.ESTABLISHED if says_so else Certainty.SUPPORTED,
        summary=f"On {len(names)} of {total} nodes ({and_others(names)}) Gloo uses {found[0][1].text}.",
        subjects=subjects,
        evidence=(*_interfaces(found), *(f.evidence for f in says_so[:MOST])),
        explains=tuple(dict.fromkeys(explained)),
        repair=Repair.CHANGE_JOB,
        commands=tuple(_commands(interface, found, identities)),
        next_observation=f"Which interface holds the node's address: `ip -br addr` on {names[0]}.",
    )


def _interfaces(found: list[tuple[NodeInfo, Choice]]) -> Iterator[Evidence]:
    for info, _ in found[:MOST]:
        there = ", ".join(f"{i.name} {i.address}" for i in info.interfaces if i.address)
        yield info.record.evidence(f"interfaces of {info.name}: {there}")


def _commands(interface: str, found: list[tuple[NodeInfo, Choice]], identities: Identities | None) -> Iterator[str]:
    """The interface with the address that peers dial, if all these nodes call it the same."""
    right = {dialled for info, _ in found if (dialled := _dialled(info, identities))}
    if len(right) == 1:
        yield f"export {VARIABLE}={right.pop()}  # in every rank, or job.environment of the plan"
    elif interface:
        yield f"unset {VARIABLE}  # in every rank, or take it out of the plan"
    if not interface:
        for info, _ in found[:MOST_NODES]:
            yield on(info.name, f"getent ahostsv4 {info.hostname}")


def _dialled(info: NodeInfo, identities: Identities | None) -> str:
    identity = identities.of(info.name) if identities else None
    own = identity.addresses if identity else ()
    named = [i.name for i in info.interfaces if i.up and i.name != "lo" and (i.address in own[:1] or not own)]
    return named[0] if named else ""
