"""The last collectives that ranks called before they failed or found a wrong result, as the backend saw them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gonogo.documents.records import CollectivesLog, Record, StepLog, TrainLog
from gonogo.facts.collectives import Collectives
from gonogo.facts.endings import ranks_in, runs_of
from gonogo.facts.fields import items, records, text, whole
from gonogo.facts.ranks import Failure, Rank, writer_of
from gonogo.facts.train import TrainRun
from gonogo.kernel import parser
from gonogo.model import Evidence

_SIZES = re.compile(r"op\.preamble\.length <= op\.nbytes\. (\d+) vs (\d+)")
"""Gloo's words, whereupon it aborts the process: so many bytes came where so many were expected."""


@dataclass(frozen=True, slots=True)
class Call:
    """One collective on one rank; the calls of one number must be the same on all ranks."""

    seq: int
    op: str
    shapes: str
    dtypes: str
    record: Record

    @property
    def kind(self) -> tuple[str, str, str]:
        """What must agree."""
        return self.op, self.shapes, self.dtypes

    @property
    def said(self) -> str:
        """all_reduce of [[2042]] Float."""
        return f"{self.op}{f' of {self.shapes}' if self.shapes else ''}{f' {self.dtypes}' if self.dtypes else ''}"


@dataclass(frozen=True, slots=True)
class Parted:
    """The first number at which ranks called different things; `odd` are the fewer, none where sides are equal."""

    step: str
    seq: int
    calls: Mapping[str, Call]  # by rank, as it is spelled
    odd: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LastCalls:
    """Step -> rank, as it is spelled -> its last calls, by number; of those that failed or found a wrong result."""

    steps: Mapping[str, Mapping[str, Mapping[int, Call]]]

    def parted(self) -> Iterator[Parted]:
        """Where ranks parted, at most once a step."""
        for step, by_rank in self.steps.items():
            for seq in sorted({n for calls in by_rank.values() for n in calls}):
                here = {name: calls[seq] for name, calls in by_rank.items() if seq in calls}
                if len({c.kind for c in here.values()}) > 1:
                    yield Parted(step, seq, here, _odd(here))
                    break


def _odd(here: Mapping[str, Call]) -> tuple[str, ...]:
    (usual, many), (_, next_many), *_ = [*Counter(c.kind for c in here.values()).most_common(), ((), 0)]
    return tuple(n for n, c in here.items() if c.kind != usual) if many > next_many else ()


@parser
def last_calls(collectives: CollectivesLog, train: TrainLog | None) -> LastCalls:
    """Of both steps."""
    logs: tuple[tuple[str, StepLog | None], ...] = (("collectives", collectives), ("train", train))
    return LastCalls({step: _calls(log, step) for step, log in logs if log})


def _calls(log: StepLog, step: str) -> dict[str, dict[int, Call]]:
    found: dict[str, dict[int, Call]] = {}
    for record in records(log, step, "calls"):
        for entry in items(record, "calls"):
            seq = whole(entry, "seq") if isinstance(entry, dict) else None
            if seq is not None and record.node in log.nodes:
                found.setdefault(writer_of(record), {})[seq] = _call(seq, entry, record)
    return found


def _call(seq: int, entry: Mapping[str, object], record: Record) -> Call:
    shapes = ", ".join(str(s) for s in items(entry, "shapes"))
    return Call(seq, text(entry, "op"), shapes, ", ".join(str(d) for d in items(entry, "dtypes")), record)


@dataclass(frozen=True, slots=True)
class SizeMet:
    """A rank whose backend met a message of another size than its own call's; `others` told their calls, all alike."""

    step: str
    rank: str
    at: str
    expected: int
    sent: int
    others: tuple[str, ...]
    evidence: Evidence

    @property
    def is_odd(self) -> bool:
        """Whether it is this rank's call that differs: what several others called alike is not theirs."""
        return len(self.others) > 1


def sizes_met(calls: LastCalls, collectives: Collectives | None, train: TrainRun | None) -> Iterator[SizeMet]:
    """At most one a step; nobody is odd where several ranks met such a message."""
    for step, run in runs_of(collectives, train):
        met = {name: (m, rank) for name, rank in ranks_in(run).items() if (m := _SIZES.search(_words(rank)))}
        if not met:
            continue
        name, (sizes, rank) = next(iter(met.items()))
        others = tuple(n for n in calls.steps.get(step, {}) if n not in met)
        source = rank.exit or rank.failure
        assert source  # its words come from one of them
        told = source.record.evidence(f"{name}: {sizes[0]}")
        alike = others if len(met) == 1 else ()
        yield SizeMet(step, name, rank.at or step, int(sizes[2]), int(sizes[1]), alike, told)


DATA_ENDED = "DataEnded"
"""The agent's error of a rank whose loader has no batch for a step that was planned."""


def ended_early(train: TrainRun) -> dict[str, Failure]:
    """The ranks whose data ended while others went on; nobody where all ended."""
    failed = {name: rank.failure for name, rank in ranks_in(train).items() if rank.failure}
    early = {name: failure for name, failure in failed.items() if failure.type == DATA_ENDED}
    return early if len(early) < len(train.present) else {}


def _words(rank: Rank) -> str:
    """All that a rank said at its end."""
    return f"{rank.failure.text if rank.failure else ''}\n{rank.exit.output if rank.exit else ''}"
