"""What training did: losses, parameters, where the time of a step went."""

from __future__ import annotations

from dataclasses import dataclass

from gonogo.documents.records import Record, TrainLog
from gonogo.facts.fields import measurement, number, text, whole
from gonogo.facts.groups import Aftermath, Group, aftermath, group_of, ranks_of
from gonogo.facts.ranks import Rank
from gonogo.kernel import PerNode, parser
from gonogo.model import Subject


@dataclass(frozen=True, slots=True)
class TrainStep:
    """One step on one rank; seconds, and None where the agent did not tell."""

    index: int
    look: int  # 0: the planned steps; above: taken once more, since a rank seemed late
    loss: float  # of all ranks; may be NaN
    own_loss: float  # of this rank's own batch; of all ranks where the agent did not tell
    seconds: float | None
    forward_seconds: float | None
    backward_seconds: float | None  # compute alone
    sync_seconds: float | None  # exposed communication
    data_seconds: float | None
    before_collective_seconds: float | None  # what this rank alone takes, until its first collective
    record: Record


@dataclass(frozen=True, slots=True)
class Parameters:
    """The model's parameters at the end, by their hash."""

    sha256: str
    elements: int | None
    record: Record


@dataclass(frozen=True, slots=True)
class Summary:
    """The agent's own sums over all steps but the first ones; seconds a step."""

    steps: int | None
    compute_seconds: float | None
    exposed_seconds: float | None
    record: Record


@dataclass(frozen=True, slots=True)
class TrainRank:
    """One process of the step and what it did."""

    rank: Rank
    steps: tuple[TrainStep, ...] = ()
    wanted: int = 0  # steps that it was to take, as far as it is known
    parameters: Parameters | None = None
    summary: Summary | None = None


class TrainRanks(PerNode[TrainRank]):
    """Expected rank -> its training process; lost where it was left out, never started or its agent is gone."""


@dataclass(frozen=True, slots=True)
class TrainRun:
    """The step as a whole; TRN001 speaks of the lost nodes, so that other checks need not repeat it."""

    ranks: TrainRanks
    group: Group | None
    after: Aftermath

    @property
    def present(self) -> dict[Subject, TrainRank]:
        """The ranks that had a process."""
        return self.ranks.present


def _step(record: Record) -> TrainStep | None:
    index, loss = whole(record, "index"), measurement(record, "loss")
    if index is None or loss is None:
        return None
    return TrainStep(
        index,
        whole(record, "look") or 0,
        loss,
        loss if (own := measurement(record, "own_loss")) is None else own,
        number(record, "seconds"),
        number(record, "forward_seconds"),
        number(record, "backward_seconds"),
        number(record, "sync_seconds"),
        number(record, "data_seconds"),
        number(record, "before_collective_seconds"),
        record,
    )


def _rank(rank: Rank, told: list[Record]) -> TrainRank:
    last = {r.kind: r for r in told}
    steps = tuple(s for r in told if r.kind == "step" and (s := _step(r)))
    parameters = summary = None
    if r := last.get("parameters"):
        parameters = Parameters(text(r, "sha256"), whole(r, "elements"), r)
    if r := last.get("summary"):
        summary = Summary(whole(r, "steps"), number(r, "compute_seconds"), number(r, "exposed_seconds"), r)
    wanted = max((whole(r, "steps") or 0 for r in told if r.kind == "at"), default=0)
    return TrainRank(rank, steps, max(wanted, len(steps)), parameters, summary)


@parser
def train_run(log: TrainLog) -> TrainRun:
    """Every rank's process, and what survivors saw."""
    group = group_of(log, "train")
    return TrainRun(TrainRanks(ranks_of(log, "train", group, _rank)), group, aftermath(log))


@parser
def train_ranks(train: TrainRun) -> TrainRanks:
    """The same by rank, the lost ones among them."""
    return train.ranks
