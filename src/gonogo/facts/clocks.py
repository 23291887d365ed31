"""How far each node's clock is from the others'."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from gonogo.facts.fields import number
from gonogo.facts.ports import Ports, Probe
from gonogo.kernel import Lost, PerNode, parser
from gonogo.model import Status, Subject, node


@dataclass(frozen=True, slots=True)
class Offset:
    """One clock less another, and by how much that may be wrong at most; seconds."""

    seconds: float
    error_seconds: float
    probe: Probe

    @property
    def least_seconds(self) -> float:
        """By how much the clocks differ at least."""
        return max(0.0, abs(self.seconds) - self.error_seconds)


@dataclass(frozen=True, slots=True)
class Clock:
    """One node's clock against those of its peers: ahead if positive."""

    typical: Offset  # the middle one, of the nearer of two: a clock is off if it is off against most
    by_peer: Mapping[str, Offset]


class Clocks(PerNode[Clock]):
    """Expected node -> its clock; lost where no connection of its own or to it told one."""


@parser
def clocks(ports: Ports) -> Clocks | Lost:
    """From the quickest probe of each pair, in whichever direction: its error is half of its round trip."""
    if len(ports) < 2:
        return Lost("One node alone has no other clock to compare with.", Status.SKIP)
    told: dict[str, dict[str, Offset]] = {name: {} for name in ports.names}
    for entry in ports.present.values():
        for probe in entry.probes:
            offset = number(probe.record, "clock_offset")
            if offset is None or probe.seconds is None or not probe.connected:
                continue
            _keep(told, probe.target, probe.source, Offset(offset, probe.seconds / 2, probe))
            _keep(told, probe.source, probe.target, Offset(-offset, probe.seconds / 2, probe))
    return Clocks({node(name): _clock(name, by_peer) for name, by_peer in told.items()})


def _keep(told: dict[str, dict[str, Offset]], name: str, peer: str, offset: Offset) -> None:
    if name in told:
        known = told[name].get(peer)
        if known is None or offset.error_seconds < known.error_seconds:
            told[name][peer] = offset


def _clock(name: str, by_peer: Mapping[str, Offset]) -> Clock | Lost:
    if not by_peer:
        return Lost(f"No connection told {name}'s clock.")
    middle = statistics.median_low([o.least_seconds for o in by_peer.values()])
    return Clock(next(o for o in by_peer.values() if o.least_seconds == middle), by_peer)


def odd_clocks(clocks: Clocks, seconds: float) -> dict[Subject, Clock]:
    """The nodes whose clock differs by more than that from most others'."""
    return {s: c for s, c in clocks.present.items() if c.typical.least_seconds > seconds}
