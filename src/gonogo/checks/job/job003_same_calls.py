"""All ranks call the same collectives, in the same order.

## Why it matters
Calls are matched by their number alone. Where one rank makes another call, or one of another shape, the ranks wait
for each other until their timeout, or the backend aborts one of them, often an innocent one.

## Usual causes
- a branch that only some ranks take (logging, evaluation, saving)
- ranks with different numbers of batches
- models or batches of different shapes

## Fix
TORCH_DISTRIBUTED_DEBUG=DETAIL compares every call between ranks before it is made, and names the one that differs.

## Source
https://pytorch.org/docs/stable/distributed.html#debugging-torch-distributed-applications
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.calls import LastCalls, ended_early, sizes_met
from gonogo.facts.collectives import Collectives
from gonogo.facts.endings import ranks_in, runs_of
from gonogo.facts.ranks import node_of
from gonogo.facts.train import TrainRun
from gonogo.kernel import check
from gonogo.model import CLUSTER, Finding, Status, node


@check("JOB003")
def same_calls(calls: LastCalls, collectives: Collectives, train: TrainRun | None) -> Iterator[Finding]:
    """One finding; or one for each rank that differs. Calls are told by ranks that failed, the others made all."""
    differ = [*_parted(calls, collectives, train), *_ended_early(train)]
    yield from differ
    if differ:
        return
    ranks = [rank for _, run in runs_of(collectives, train) for rank in ranks_in(run).values()]
    well = [rank for rank in ranks if rank.finished]
    if ranks and len(well) == len(ranks):
        yield Finding(Status.OK, CLUSTER, f"{len(well)} of {len(ranks)} ranks made all their calls to the end.")
    else:
        message = f"{len(well)} of {len(ranks)} ranks made all their calls to the end; the last ones of others agree."
        yield Finding(Status.UNKNOWN, CLUSTER, message)


def _parted(calls: LastCalls, collectives: Collectives, train: TrainRun | None) -> Iterator[Finding]:
    """Of the first call that differs, or of the first message of another size."""
    if found := next(calls.parted(), None):
        evidence = tuple(c.record.evidence(f"{n}: call {c.seq} is {c.said}") for n, c in found.calls.items())
        told = "; ".join(f"{c.said} on {n}" for n, c in found.calls.items())
        for subject in [node(node_of(n)) for n in found.odd] or [CLUSTER]:
            message = f"Call number {found.seq} of {found.step} is not the same on all ranks: {told}."
            yield Finding(Status.FAIL, subject, message, evidence=evidence)
    elif met := next(sizes_met(calls, collectives, train), None):
        message = f"{met.rank} expected {met.expected} bytes in {met.at} and was sent {met.sent}."
        subject = node(node_of(met.rank)) if met.is_odd else CLUSTER
        yield Finding(Status.FAIL, subject, message, met.sent, met.expected, "bytes", evidence=(met.evidence,))


def _ended_early(train: TrainRun | None) -> Iterator[Finding]:
    for name, failure in (ended_early(train) if train else {}).items():
        message = f"{name} makes fewer calls than the others in train: {failure.reason}."
        yield Finding(Status.FAIL, node(node_of(name)), message, evidence=(failure.evidence,))
