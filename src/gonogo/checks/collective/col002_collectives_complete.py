"""Every collective that was started completes on every rank.

## Why it matters
A collective that hangs on one rank holds all the others until their timeout, in every step of the training.

## Usual causes
- a rank died or is stopped
- large messages vanish between two nodes (MTU), or connections are cut after some bytes
- ranks called different collectives

## Fix
Look at the earliest error, not the loudest: ranks that report a closed connection or a timeout are often innocent.

## Source
https://pytorch.org/docs/stable/distributed.html#debugging-torch-distributed-applications
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.collectives import CollectiveRank, Collectives
from gonogo.facts.starved import OutOfTime, out_of_time
from gonogo.kernel import check
from gonogo.model import CLUSTER, Finding, Status, Subject


@check("COL002")
def collectives_complete(collectives: Collectives) -> Iterator[Finding]:
    """One finding a rank: how many measurements it completed, of those that any rank did."""
    if not collectives.present:
        yield Finding(Status.UNKNOWN, CLUSTER, "No node ran it (waits for COL001).")
    done = {subject: {_key(o) for o in entry.operations} for subject, entry in collectives.present.items()}
    wanted = set().union(*done.values())
    late = out_of_time(entry.rank for entry in collectives.present.values())
    for subject, entry in collectives.present.items():
        yield _judge(subject, entry, len(done[subject]), len(wanted), late)


def _key(operation: object) -> tuple[object, ...]:
    return tuple(getattr(operation, name) for name in ("op", "size_bytes", "dtype", "repeat"))


def _judge(subject: Subject, entry: CollectiveRank, done: int, wanted: int, late: OutOfTime | None) -> Finding:
    rank = entry.rank
    message = f"{rank.name} completed {done} of {wanted} measurements of collectives"
    if rank.finished and done == wanted and done:
        evidence = (entry.operations[-1].record.evidence(f"the last measurement of {rank.name}"),)
        return Finding(Status.OK, subject, f"{message}.", done, wanted, "measurements", evidence=evidence)
    if not rank.init:
        return Finding(
            Status.UNKNOWN, subject, f"{message}: it never joined the group (waits for COL001).", done, wanted
        )
    if late and late.leaves_open(rank):
        return Finding(Status.UNKNOWN, subject, f"{message}: {late.said}.", done, wanted, evidence=late.evidence)
    if rank.failure:
        reason, evidence = f"{rank.failure.where} failed: {rank.failure.reason}", (rank.failure.evidence,)
    elif rank.exit:
        reason, evidence = f"it {rank.exit.said} in {rank.at or 'its start'}", (rank.exit.evidence(rank.name),)
    else:
        return Finding(Status.UNKNOWN, subject, f"{message}, and how it ended is not told.", done, wanted)
    return Finding(Status.FAIL, subject, f"{message}: {reason}.", done, wanted, "measurements", evidence=evidence)
