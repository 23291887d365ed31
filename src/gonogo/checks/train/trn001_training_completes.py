"""Training runs all its steps on every rank.

## Why it matters
Collectives alone prove messages; training adds data loading, autograd, and hundreds of collectives that must come in
the same order on all ranks.

## Usual causes
- whatever stops a collective (see the areas network, link and job)
- data loader workers that die of a full /dev/shm
- ranks with different numbers of batches

## Fix
Read the earliest rank's error in the bundle; mend what the network, link and collective checks name first.

## Source
https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.starved import OutOfTime, out_of_time
from gonogo.facts.train import TrainRank, TrainRanks
from gonogo.kernel import check
from gonogo.model import Finding, Status, Subject


@check("TRN001")
def training_completes(train: TrainRanks) -> Iterator[Finding]:
    """One finding a rank; the kernel adds the nodes that were left out."""
    wanted = max((entry.wanted for entry in train.present.values()), default=0)
    late = out_of_time(entry.rank for entry in train.present.values())
    for subject, entry in train.present.items():
        yield _judge(subject, entry, wanted, late)


def _judge(subject: Subject, entry: TrainRank, wanted: int, late: OutOfTime | None) -> Finding:
    rank, done = entry.rank, len(entry.steps)
    message = f"{rank.name} trained {done} of {wanted} steps"
    if rank.finished and done == wanted and done:
        evidence = (entry.steps[-1].record.evidence(f"the last step of {rank.name}"),)
        return Finding(Status.OK, subject, f"{message}.", done, wanted, "steps", evidence=evidence)
    if late and late.leaves_open(rank):
        message = f"{message}: {late.said}."
        return Finding(Status.UNKNOWN, subject, message, done, wanted, "steps", evidence=late.evidence)
    if rank.failure:
        message = f"{message}: {rank.failure.where} failed: {rank.failure.reason}."
        return Finding(Status.FAIL, subject, message, done, wanted, "steps", evidence=(rank.failure.evidence,))
    if rank.exit:
        message = f"{message}: it {rank.exit.said} in {rank.at or 'its start'}."
        evidence = (rank.exit.evidence(rank.name),)
        return Finding(Status.FAIL, subject, message, done, wanted, "steps", evidence=evidence)
    return Finding(Status.UNKNOWN, subject, f"{message}, and how it ended is not told.", done, wanted, "steps")
