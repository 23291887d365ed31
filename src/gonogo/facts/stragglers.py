"""Ranks that reach their collectives later than the others."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from gonogo.facts.train import TrainRank, TrainRun, TrainStep
from gonogo.kernel import parser
from gonogo.links.pace import WARM_UP_STEPS, Pace, judge
from gonogo.model import Subject


@dataclass(frozen=True, slots=True)
class RankPace:
    """What one rank takes by itself in a step, and what of it is for its batch; seconds, medians of one look."""

    pace: Pace
    data_seconds: float
    looks: int  # at which it was told
    step: TrainStep  # a typical one


@dataclass(frozen=True, slots=True)
class Paces:
    """Rank -> its pace; ranks that told too few steps are not among them."""

    ranks: Mapping[Subject, RankPace]


@parser
def paces(train: TrainRun) -> Paces:
    """Each look is a run of steps: the planned ones, and more of them where somebody seemed late."""
    count = 1 + max((s.look for entry in train.present.values() for s in entry.steps), default=0)
    looks = [{s.name: _told(entry, look) for s, entry in train.present.items()} for look in range(count)]
    judged = judge(
        [{n: [(_own(s), s.sync_seconds or 0.0) for s in steps] for n, steps in look.items()} for look in looks]
    )
    told = {s: p for s in train.present if (p := judged.get(s.name))}
    return Paces(
        {s: _of_rank(p, looks[p.look][s.name], sum(bool(look[s.name]) for look in looks)) for s, p in told.items()}
    )


def _told(entry: TrainRank, look: int) -> list[TrainStep]:
    return [s for s in entry.steps if s.look == look and s.before_collective_seconds is not None]


def _own(step: TrainStep) -> float:
    return (step.data_seconds or 0.0) + (step.before_collective_seconds or 0.0)


def _of_rank(pace: Pace, steps: list[TrainStep], looks: int) -> RankPace:
    settled = steps[WARM_UP_STEPS:]
    typical = min(settled, key=lambda s: abs(_own(s) - pace.own))
    return RankPace(pace, statistics.fmean(s.data_seconds or 0.0 for s in settled), looks, typical)
