"""The steps of a training, taken again by one process."""

from __future__ import annotations

from dataclasses import dataclass

from gonogo.documents.records import Record, TrainLog
from gonogo.facts.fields import records
from gonogo.facts.train import TrainRun
from gonogo.kernel import Lost, parser


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Rank 0's record, and of how many ranks it took the steps again."""

    ranks: int
    record: Record


@parser
def reproduction(log: TrainLog, train: TrainRun) -> Reproduction | Lost:
    """The last one that is told."""
    told = list(records(log, "train", "reproduction"))
    ranks = len(train.group.ranks) if train.group else len(train.present)
    if not told:
        return Lost("No process took the steps of the training again (waits for TRN001).")
    return Reproduction(ranks, told[-1])
