"""Ports that were silent while many connections were held, tried once more alone."""

from __future__ import annotations

from dataclasses import dataclass

from gonogo.documents.records import PortsLog
from gonogo.facts.fields import records, text
from gonogo.facts.ports import Ports, Probe, probe_of
from gonogo.kernel import parser

HELD = "held"
"""What such a probe came after."""


@dataclass(frozen=True, slots=True)
class Again:
    """The second probes."""

    probes: tuple[Probe, ...]

    def limited(self, ports: Ports) -> tuple[Probe, ...]:
        """Those that connect now, to nodes that left some connection without an answer before."""
        full = {p.target for told in ports.present.values() for p in told.probes if p.outcome == "silent"}
        return tuple(p for p in self.probes if p.connected and p.target in full)


@parser
def again(log: PortsLog) -> Again:
    """Out of the step's records."""
    told = (r for r in records(log, "ports", "probe") if r.get("after") == HELD)
    return Again(tuple(p for r in told if (p := probe_of(text(r, "node"), r))))
