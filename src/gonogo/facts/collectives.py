"""What collectives did between all nodes, and how fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gonogo.documents.records import CollectivesLog, Record
from gonogo.facts.fields import measurement, number, text, whole
from gonogo.facts.groups import Aftermath, Group, aftermath, group_of, ranks_of, why_none
from gonogo.facts.ranks import Rank
from gonogo.kernel import Lost, PerNode, parser
from gonogo.model import Subject


@dataclass(frozen=True, slots=True)
class Operation:
    """One collective of one size on one rank; seconds are the median of one call."""

    rank: str  # as ranks are spelled
    op: str
    size_bytes: int
    dtype: str
    ranks: int
    seconds: float
    min_seconds: float | None
    wrong: int | None  # elements that differ from the exact result
    max_error: float | None
    repeat: int
    record: Record


@dataclass(frozen=True, slots=True)
class CollectiveRank:
    """One process of the step and what it completed."""

    rank: Rank
    operations: tuple[Operation, ...]


class CollectiveRanks(PerNode[CollectiveRank]):
    """Expected rank -> its process; lost where it was left out, never started or its agent is gone."""


@dataclass(frozen=True, slots=True)
class Collectives:
    """The step as a whole; COL001 speaks of the lost nodes, so that other checks need not repeat it."""

    ranks: CollectiveRanks
    group: Group | None
    after: Aftermath

    @property
    def present(self) -> dict[Subject, CollectiveRank]:
        """The ranks that had a process."""
        return self.ranks.present


@dataclass(frozen=True, slots=True)
class AllReduceCurve:
    """Bytes -> seconds of the slowest rank, for sizes that every rank completed."""

    seconds: Mapping[int, float]
    ranks: int
    nodes: int
    operations: tuple[Operation, ...]


def _operation(name: str, record: Record) -> Operation | None:
    size, seconds = whole(record, "bytes"), number(record, "seconds")
    if size is None or seconds is None or seconds <= 0:
        return None
    return Operation(
        name,
        text(record, "op"),
        size,
        text(record, "dtype"),
        whole(record, "ranks") or 0,
        seconds,
        number(record, "min_seconds"),
        whole(record, "wrong"),
        measurement(record, "max_error"),
        whole(record, "repeat") or 0,
        record,
    )


@parser
def collectives(log: CollectivesLog) -> Collectives:
    """Every rank's process, and the survivors' second look at each other."""

    def made(rank: Rank, told: list[Record]) -> CollectiveRank:
        operations = (_operation(rank.name, r) for r in told if r.kind == "op")
        return CollectiveRank(rank, tuple(op for op in operations if op))

    group = group_of(log, "collectives")
    return Collectives(CollectiveRanks(ranks_of(log, "collectives", group, made)), group, aftermath(log))


@parser
def collective_ranks(collectives: Collectives) -> CollectiveRanks:
    """The same by rank, the lost ones among them."""
    return collectives.ranks


@parser
def all_reduce_curve(collectives: Collectives) -> AllReduceCurve | Lost:
    """The sizes that every rank of the group completed, each at its slowest rank's best pass.

    The best pass, since noise only ever adds time; the slowest rank, since a collective is over when all have it.
    """
    group = collectives.group
    members = group.ranks if group else tuple(entry.rank.name for entry in collectives.present.values())
    best: dict[int, dict[str, Operation]] = {}
    for entry in collectives.present.values():
        for made in (o for o in entry.operations if o.op == "all_reduce" and o.dtype in ("float32", "")):
            of_size = best.setdefault(made.size_bytes, {})
            if made.rank not in of_size or made.seconds < of_size[made.rank].seconds:
                of_size[made.rank] = made
    whole_sizes = {size: by for size, by in sorted(best.items()) if members and set(by) >= set(members)}
    if not whole_sizes:
        return Lost(why_none(collectives.ranks, "The all_reduce curve"))
    seconds = {size: max(o.seconds for o in by.values()) for size, by in whole_sizes.items()}
    slowest = tuple(max(by.values(), key=lambda o: o.seconds) for by in whole_sizes.values())
    nodes = len({entry.rank.node for entry in collectives.present.values()})
    return AllReduceCurve(seconds, max(o.ranks for o in slowest) or len(members), nodes, slowest)
