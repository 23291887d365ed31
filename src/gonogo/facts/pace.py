"""How fast each node writes to storage, against the plan and against the others."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from gonogo.facts.fields import number
from gonogo.facts.storage import PathProbe, Storage
from gonogo.kernel import parser
from gonogo.model import Evidence
from gonogo.plan import Plan

PEER_SHARE = 0.25
"""Of the others' median: nodes that write at once to one file server, or share a disk, differ by a factor of two."""

LEAST_SECONDS = 1.0
"""A write that took less says nothing against a node: it may have waited for a processor."""

LEAST_PEERS = 2
PLAN = "the plan"


@dataclass(frozen=True, slots=True)
class PathPace:
    """Bytes per second of one node on one path, until they are durable; floor None: nothing to compare with."""

    rate: float
    floor: float | None
    source: str  # of the floor: the plan, or the other nodes
    is_slow: bool
    is_behind: bool  # the other nodes, whatever the plan says
    evidence: Evidence

    @property
    def is_below_plan(self) -> bool:
        """Whether the plan expects more."""
        return self.is_slow and self.source == PLAN


@dataclass(frozen=True, slots=True)
class StoragePace:
    """(node, path) -> its pace."""

    paces: Mapping[tuple[str, str], PathPace]

    def of(self, probe: PathProbe) -> PathPace | None:
        """None where it wrote nothing."""
        return self.paces.get((probe.node, probe.path))

    def on(self, path: str) -> dict[str, PathPace]:
        """By node, those that wrote to that path."""
        return {name: pace for (name, where), pace in self.paces.items() if where == path}


@parser
def storage_pace(storage: Storage, plan: Plan) -> StoragePace:
    """Each against the plan's floor if there is one, else against the median of all others on the same path."""
    floors = {s.path: s.write_gbytes_per_second for s in plan.storage}
    found = {}
    for path in storage.named():
        rates = {name: rate for name, p in storage.on(path).items() if (rate := p.rate("write"))}
        for name, rate in rates.items():
            others = [r for n, r in rates.items() if n != name]
            found[name, path] = _pace(storage.on(path)[name], rate, others, floors.get(path))
    return StoragePace(found)


def _pace(probe: PathProbe, rate: float, others: list[float], floor: float | None) -> PathPace:
    record = probe.told["write"]
    seconds = number(record, "seconds") or 0.0
    evidence = record.evidence(f"{probe.node} wrote {record.get('bytes')} bytes to {probe.path} in {seconds:.3f} s")
    least = PEER_SHARE * statistics.median(others) if len(others) >= LEAST_PEERS else None
    behind = least is not None and rate < least and seconds >= LEAST_SECONDS
    if floor:
        return PathPace(rate, floor * 1e9, PLAN, rate < floor * 1e9, behind, evidence)
    return PathPace(rate, least, "the other nodes" if least is not None else "", behind, behind, evidence)
