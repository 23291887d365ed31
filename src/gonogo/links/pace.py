"""What the steps of training say: who reaches the collectives late, so that all others wait.

A rank's own time is what it takes until its first collective: for its batch, and to compute until a gradient is there.
It is held against the other ranks' and the noise that was measured. Whoever comes last waits least, so a rank that
takes long and waits as long as the others is none. A look is some steps in a row; a rank is late only if it is in every
look: what a busy moment made slow is as fast as the others at another.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FLOOR = 0.5
"""Of the others' own time: ranks that share a busy machine differ by a third."""
DEVIATIONS = 4.0
LEAST_SECONDS = 0.01
LEAST_STEPS = 4
LEAST_RANKS = 3
"""With fewer there is nothing to compare with: of two, nobody can say which is slow and which is fast."""
LOADERS = 2
"""Processes that make a rank's batches. They hand them over in a bunch, so that times are averaged over so many steps.
"""
WARM_UP_STEPS = 2
"""Of each look: they start loaders, size buffers and rebuild DDP's buckets."""

Steps = Sequence[tuple[float, float]]
"""(own time, wait for the others) of each step, in seconds."""


@dataclass(frozen=True)
class Pace:
    """One rank in the look in which it was least late; seconds, medians of its steps."""

    own: float
    waits: float
    others: float | None  # the other ranks' median; None: too few to compare with
    others_wait: float
    bar: float  # an own time from which on it is late
    look: int

    @property
    def is_late(self) -> bool:
        """Whether it takes so long that it is no noise, and the others wait for it."""
        if self.others is None or self.own < self.bar:
            return False
        return self.waits + (self.own - self.others) / 2 <= self.others_wait

    @property
    def excess(self) -> float:
        """Own time over the bar: the less, the better."""
        return self.own / self.bar if self.bar else 0.0


def judge(looks: Sequence[Mapping[str, Steps]]) -> dict[str, Pace]:
    """Each rank's pace; ranks that told too few steps in a look are not in that look."""
    best: dict[str, Pace] = {}
    for number, look in enumerate(looks):
        for name, pace in _in_look(number, look).items():
            before = best.get(name)
            if before is None or (pace.is_late, pace.excess) < (before.is_late, before.excess):
                best[name] = pace
    return best


def _in_look(number: int, look: Mapping[str, Steps]) -> dict[str, Pace]:
    settled = {name: steps[WARM_UP_STEPS:] for name, steps in look.items()}
    told = {name: steps for name, steps in settled.items() if len(steps) >= LEAST_STEPS}
    own = {name: statistics.median(_own(steps)) for name, steps in told.items()}
    waits = {name: statistics.median(wait for _, wait in steps) for name, steps in told.items()}
    error = {name: _error(_own(steps)) for name, steps in told.items()}
    found = {}
    for name in told:
        rest = [other for other in told if other != name]
        if len(told) < LEAST_RANKS:
            found[name] = Pace(own[name], waits[name], None, 0.0, math.inf, number)
            continue
        usual = statistics.median_low(own[other] for other in rest)  # of two, the mean would follow one that is late
        noise = math.hypot(error[name], statistics.median(error[o] for o in rest), _spread([own[o] for o in rest]))
        bar = usual + max(FLOOR * usual, DEVIATIONS * noise, LEAST_SECONDS)
        found[name] = Pace(own[name], waits[name], usual, statistics.median(waits[o] for o in rest), bar, number)
    return found


def _own(steps: Steps) -> list[float]:
    """Running means."""
    return [
        statistics.fmean(mine for mine, _ in steps[i : i + LOADERS]) for i in range(max(1, len(steps) - LOADERS + 1))
    ]


def _error(values: Sequence[float]) -> float:
    """The standard error of a median."""
    return 1.2533 * _spread(values) / math.sqrt(len(values))


def _spread(values: Sequence[float]) -> float:
    """1.4826 MAD: the standard deviation, were the values normal."""
    middle = statistics.median(values)
    return 1.4826 * statistics.median([abs(v - middle) for v in values])
