"""The process group forms, with a rank on every node.

## Why it matters
Nothing is trained before all ranks have joined. Where one is missing, the others wait for their timeout; where the
group can form only without a node, that node is paid for and idle.

## Usual causes
- blocked ports, or a name that does not resolve (see the areas network and job)
- a rank that never started, or died at its start
- an interface for Gloo or NCCL that isn't there

## Fix
Mend what the network checks name first; then read the error of the rank that failed earliest.

## Source
https://pytorch.org/docs/stable/distributed.html#initialization
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.collectives import CollectiveRanks, Collectives
from gonogo.facts.groups import Group
from gonogo.facts.ranks import Rank
from gonogo.facts.starved import OutOfTime, out_of_time
from gonogo.kernel import check
from gonogo.model import Finding, Status, Subject


@check("COL001")
def group_forms(ranks: CollectiveRanks, collectives: Collectives) -> Iterator[Finding]:
    """One finding a rank; the kernel adds the nodes that were left out."""
    group = collectives.group or Group(tuple(entry.rank.name for entry in ranks.present.values()), {}, None)
    late = out_of_time(entry.rank for entry in ranks.present.values())
    for subject, entry in ranks.present.items():
        yield _judge(subject, entry.rank, group, late)


def _judge(subject: Subject, rank: Rank, group: Group, late: OutOfTime | None) -> Finding:
    size = len(group.ranks)
    if rank.init and group.record is None:
        message = f"{rank.name} joined as rank {rank.init.rank} of {rank.init.world_size}; the group is not told."
        return Finding(Status.UNKNOWN, subject, message, rank.init.world_size, unit="ranks")
    if rank.init:
        each = group.ranks_per_node
        where = f" (local rank {rank.init.local_rank} of {each})" if each > 1 else ""
        took = f" in {rank.init.seconds:.2f} s" if rank.init.seconds is not None else ""
        return Finding(
            Status.OK if group.is_place(rank) else Status.FAIL,
            subject,
            f"{rank.name} joined as rank {rank.init.rank} of {rank.init.world_size}{where}{took}, {size} expected.",
            measured=rank.init.world_size,
            expected=size,
            unit="ranks",
            evidence=(rank.init.record.evidence(f"{rank.name} joined over {rank.init.address or rank.init.backend}"),),
        )
    if late and late.leaves_open(rank):
        message = f"{rank.name} did not join the group of {size}: {late.said}."
        return Finding(Status.UNKNOWN, subject, message, 0, size, "ranks", evidence=late.evidence)
    if rank.failure:
        message = f"{rank.name} did not join the group of {size}: {rank.failure.reason}."
        return Finding(Status.FAIL, subject, message, 0, size, "ranks", evidence=(rank.failure.evidence,))
    if rank.exit:
        message = f"{rank.name} did not join the group of {size}: {rank.exit.said} in {rank.at or 'its start'}."
        return Finding(Status.FAIL, subject, message, 0, size, "ranks", evidence=(rank.exit.evidence(rank.name),))
    return Finding(Status.UNKNOWN, subject, f"Whether {rank.name} joined the group of {size} is not told.")
