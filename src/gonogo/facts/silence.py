"""A job that runs and writes no more: by the two readings that `collect` makes of one that runs."""

from __future__ import annotations

from dataclasses import dataclass

from gonogo.facts.objects import Objects
from gonogo.model import Evidence

_SILENT, _GAP = "silent_seconds", "longest_gap_seconds"
LEAST_SECONDS = 60.0
LEAST_GAPS = 3.0
"""Silence is more than a pause from this many times the longest that the log made before."""
LEAST_AHEAD_SECONDS = 5.0
"""Who fell silent less ahead of the others than that was not first: lines are written in turn."""


@dataclass(frozen=True, slots=True)
class Silence:
    """All logs of a job in which none wrote any more: pods in the order in which they fell silent."""

    pods: tuple[str, ...]
    seconds: float  # since the last line of all
    gap_seconds: float  # the longest before
    ahead_seconds: float  # of the first before the second; 0.0 where nobody was first
    evidence: tuple[Evidence, ...]


def silence(objects: Objects) -> Silence | None:
    """None where a log grew, was not read again, or pauses as long as that anyway."""
    told = [
        (o, i, row) for o in objects.of("Readings") for i, row in enumerate(o.items("logs")) if isinstance(row, dict)
    ]
    if not told or any(row.get("gained") != 0 for _, _, row in told):
        return None
    wrote = [t for t in told if all(isinstance(t[2].get(k), int | float) for k in (_SILENT, _GAP))]
    wrote.sort(key=lambda t: -float(t[2][_SILENT]))
    if not wrote:
        return None
    silent = [float(row[_SILENT]) for _, _, row in wrote]
    gap = max(float(row[_GAP]) for _, _, row in wrote)
    if silent[-1] < max(LEAST_SECONDS, LEAST_GAPS * gap):
        return None
    ahead = silent[0] - silent[1] if len(silent) > 1 else 0.0
    return Silence(
        tuple(dict.fromkeys(str(row.get("pod")) for _, _, row in wrote)),
        silent[-1],
        gap,
        ahead if ahead >= LEAST_AHEAD_SECONDS else 0.0,
        tuple(o.cite(("logs", i, _SILENT)) for o, i, _ in wrote[:3]),
    )
