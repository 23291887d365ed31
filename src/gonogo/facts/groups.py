"""Which ranks make a group, who was left out and why, and how their agents stood when the step was over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from gonogo.documents.records import Record, StepLog
from gonogo.facts.fields import by_node, items, records, silence, text, texts, whole
from gonogo.facts.ports import Probe, probe_of
from gonogo.facts.ranks import KINDS, MOST_RANKS, OF_RANK, Rank, rank_of, spelled, subject_of
from gonogo.kernel import Lost, PerNode
from gonogo.model import Subject

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Group:
    """Which nodes were to take part, with so many ranks each, and which were left out and why."""

    members: tuple[str, ...]
    left_out: Mapping[str, str]
    record: Record | None
    ranks_per_node: int = 1

    @property
    def ranks(self) -> tuple[str, ...]:
        """All ranks as they are spelled, in rank order."""
        each = self.ranks_per_node
        if each == 1:
            return self.members
        return tuple(spelled(n, i * each + local) for i, n in enumerate(self.members) for local in range(each))

    def numbers(self, name: str) -> tuple[int | None, ...]:
        """The numbers of a member's ranks; one alone needs none."""
        each = self.ranks_per_node
        if each == 1:
            return (None,)
        first = self.members.index(name) * each
        return tuple(range(first, first + each))

    def is_place(self, rank: Rank) -> bool:
        """Whether a rank that joined was told the number of ranks and, where its node has several, which it is."""
        init = rank.init
        right = init is not None and init.world_size == len(self.ranks)
        if init is None or not right or self.ranks_per_node == 1:
            return right
        return (init.rank, init.local_rank) == (rank.number, self.numbers(rank.node).index(rank.number))


def group_of(log: StepLog, step: str) -> Group | None:
    """The largest group that a coordinator made; a node that nobody could reach may have made one of its own."""
    told = list(records(log, step, "group"))
    if not told:
        return None
    best = max(told, key=lambda r: len(texts(r, "members")))  # of equals the first
    members = texts(best, "members")
    out: dict[str, str] = {}
    for record in (best, *told):
        for entry in items(record, "left_out"):
            if isinstance(entry, dict) and text(entry, "peer") not in members:
                out.setdefault(text(entry, "peer"), text(entry, "reason"))
    return Group(members, out, best, max(1, min(whole(best, "ranks_per_node") or 1, MOST_RANKS)))


def ranks_of(
    log: StepLog, step: str, group: Group | None, make: Callable[[Rank, list[Record]], T]
) -> dict[Subject, T | Lost]:
    """Expected rank -> what is made of its process and its records, or why it has no process in the group.

    A rank stands for its node, unless that has several; a node that was left out has none that could be numbered.
    Nodes that could not reach the others may have made a group of their own: what it did proves nothing of the whole.
    """
    told = by_node(log, step, *KINDS)
    found: dict[Subject, T | Lost] = {}
    for name in log.nodes:
        outside = group is not None and name not in group.members
        for which in _numbers(group, name, told[name]):
            mine = [r for r in told[name] if which is None or whole(r, OF_RANK) == which]
            rank = None if outside else rank_of(name, which, mine)
            why = Lost(_why_absent(log, group, step, name, spelled(name, which)))
            found[subject_of(name, which)] = make(rank, mine) if rank else why
    return found


def _numbers(group: Group | None, name: str, told: list[Record]) -> tuple[int | None, ...]:
    """The numbers of a node's ranks: by its group, or by its records where no group is told."""
    if group is not None:
        return group.numbers(name) if name in group.members else (None,)
    return tuple(sorted({n for r in told if (n := whole(r, OF_RANK)) is not None})[:MOST_RANKS]) or (None,)


def _why_absent(log: StepLog, group: Group | None, step: str, name: str, rank: str) -> str:
    if group and name in group.left_out:
        return f"{name} was left out of {step}: {group.left_out[name]}."
    own = [texts(r, "members") for r in records(log, step, "group") if name in texts(r, "members")]
    if group and own and name not in group.members:
        size = max(len(members) for members in own)
        return f"{name} ran {step} in another group of {size}, apart from the group of {len(group.members)}."
    if log.ended.get(name):
        return silence(log, name, "")
    if group and name not in group.members:
        return f"{name} was left out of {step}, and nobody said why."
    return f"{rank} started no process for {step}." if group else f"No process group was made for {step}."


def why_none(ranks: PerNode[T], what: str) -> str:
    """One sentence for a fact about all ranks that can't be had, for the reason that most of them give."""
    reasons = [lost.reason for lost in ranks.lost.values()]
    if not ranks.present:
        return f"{what} was not measured: {max(reasons, key=reasons.count)}" if reasons else f"{what} was not measured."
    return f"{what} was not measured: not every rank of the group completed it."


@dataclass(frozen=True, slots=True)
class Aftermath:
    """How agents stood when the step was over, and what survivors saw of each other once something had gone wrong."""

    ended: Mapping[str, str]  # node -> "", or how its agent ended
    probes: tuple[Probe, ...] = ()
    last: Mapping[str, Record] = field(default_factory=dict)  # node -> the last record that it wrote
    exits: Mapping[str, Record] = field(default_factory=dict)  # node -> the launcher's word on its agent's end


def aftermath(log: StepLog) -> Aftermath:
    """Out of a step's records."""
    probes = (probe_of(text(r, "node"), r) for r in records(log, "ports", "probe") if r.get("after"))
    last = {text(r, "node"): r for r in log.records if text(r, "node") in log.nodes}
    exits = {text(r, "of"): r for r in records(log, "fabric", "exit")}
    return Aftermath(log.ended, tuple(p for p in probes if p), last, exits)
