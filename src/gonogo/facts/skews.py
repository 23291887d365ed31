"""How far the clocks of files are apart, by what all ranks of a job do at one moment: the end of NCCL's set-up."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median_low

from gonogo.facts.events import Event, Events

LEAST_SECONDS = 5.0
"""Ranks come out of a set-up within a second or two; what is further apart are clocks."""
MOST_SECONDS = 12 * 3600.0
"""Beyond it, it was another start of the job."""


def skews(events: Events) -> Mapping[str, float]:
    """File -> seconds that its clock is ahead of the middle one's; only those that are off, of two files at least."""
    ends: dict[str, float] = {}
    for e in events.of("nccl.rank_init").where(state="COMPLETE"):
        if e.when and e.when.clock == "wall":
            ends.setdefault(e.file, e.when.seconds)
    if len(ends) < 2:
        return {}
    middle = median_low(list(ends.values()))
    return {f: t - middle for f, t in ends.items() if LEAST_SECONDS <= abs(t - middle) <= MOST_SECONDS}


def aligned(events: Events, ahead: Mapping[str, float]) -> tuple[Event, ...]:
    """Those with a wall-clock time, in its order by one clock."""
    timed = [e for e in events if e.when and e.when.clock == "wall"]
    return tuple(sorted(timed, key=lambda e: (e.when.seconds if e.when else 0.0) - ahead.get(e.file, 0.0)))
