"""Nodes whose RANK or WORLD_SIZE contradicts the others'."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gonogo.facts.collectives import Collectives
from gonogo.facts.groups import Group
from gonogo.facts.nodes import Nodes
from gonogo.facts.ranks import Rank
from gonogo.model import Evidence, Subject

CONFLICT = "RankConflict"
"""The agent's error of ranks that disagree on who they are, or how many."""


@dataclass(frozen=True, slots=True)
class Odd:
    """What contradicts, to follow a colon."""

    variable: str
    text: str


def odd_variables(nodes: Nodes) -> dict[Subject, list[Odd]]:
    """By node: another world size than most, and a rank that another node has as well, or that is beyond the world."""
    found: dict[Subject, list[Odd]] = {}
    sizes = {s: info.environment["WORLD_SIZE"] for s, info in nodes.present.items() if "WORLD_SIZE" in info.environment}
    ranks = {s: info.environment["RANK"] for s, info in nodes.present.items() if "RANK" in info.environment}
    (usual, many), (_, next_many), *_ = [*Counter(sizes.values()).most_common(), ("", 0), ("", 0)]
    for subject, size in sizes.items():
        if size != usual or (many == next_many and len(set(sizes.values())) > 1):
            others = f"{many} other nodes have {usual}" if size != usual else "other nodes have another"
            found.setdefault(subject, []).append(Odd("WORLD_SIZE", others))
    for subject, rank in ranks.items():
        twins = [s.name for s, r in ranks.items() if r == rank and s != subject]
        if twins:
            found.setdefault(subject, []).append(Odd("RANK", f"{', '.join(twins)} has the same RANK"))
        elif rank.isdigit() and usual.isdigit() and int(rank) >= int(usual):
            found.setdefault(subject, []).append(Odd("RANK", f"ranks of a world of {usual} end at {int(usual) - 1}"))
    return found


def mistaken(collectives: Collectives) -> dict[str, Evidence]:
    """By rank, as it is spelled: whose variables tell it another rank, or another number of them, than it has."""
    group = collectives.group
    ranks = [entry.rank for entry in collectives.present.values()]
    if group is None:
        return {}
    return {rank.name: told for rank in ranks if (told := _mistaken(rank, group))}


def _mistaken(rank: Rank, group: Group) -> Evidence | None:
    if rank.init and not group.is_place(rank):
        local = f" (local rank {rank.init.local_rank})" if rank.number is not None else ""
        joined = f"{rank.name} joined as rank {rank.init.rank} of {rank.init.world_size}{local}"
        return rank.init.record.evidence(f"{joined}, in a group of {len(group.ranks)}")
    if rank.failure and rank.failure.type == CONFLICT:
        return rank.failure.record.evidence(f"{rank.name}: {rank.failure.reason}")
    return None
