"""New connections are blocked in one direction only.

## What is wrong
One side can open connections to the other, and the other cannot open any back. Training may pass: the framework
happens to connect from one side only. The next job, with other addresses or another rank 0, will not.

## Fix
Let new connections in (or out) on the node that is named: rules that accept only established connections are the
usual reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.filtering import counted, diagnosis
from gonogo.facts.blocked import blocked
from gonogo.facts.identities import Identities
from gonogo.facts.ports import Ports
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis


@cause("network.one_way_blocked", refines=("network.port_blocked",))
def one_way_blocked(findings: Findings, ports: Ports, identities: Identities | None) -> Iterator[Diagnosis]:
    """One diagnosis for each node and direction, or set of pairs, whose way back connects on the same ports."""
    for found in blocked(ports):
        if found.one_way:
            summary = f"New connections {found.shape.spell(len(ports))} are {found.how} on {found.spelled}"
            text = f"{summary}: {counted(found, len(ports))}, and the same ports connect the other way round."
            yield diagnosis("network.one_way_blocked", text, found, findings, identities)
