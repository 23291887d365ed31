"""Every rank reaches its collectives as soon as the others do.

## Why it matters
All ranks wait for the last one in every step, and all show the same slow step. Only the time that each takes before
its first collective tells who is late: the straggler is the one that waits least.

## Usual causes
- a limit on the node's or pod's CPU, or other programs on it
- a GPU that is throttled (heat, power)
- data that load slower on one node

## Fix
Look at the load and the CPU limit of the node that is named; leave it out and compare the step's time.

## Source
https://pytorch.org/docs/stable/notes/ddp.html#internal-design
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.ranks import said
from gonogo.facts.stragglers import Paces, RankPace
from gonogo.facts.train import TrainRun
from gonogo.kernel import check
from gonogo.model import CLUSTER, Figure, Finding, Status, Subject


@check("TRN006")
def ranks_in_step(train: TrainRun, paces: Paces) -> Iterator[Finding | Figure]:
    """One finding a rank, on the medians of its steps but the first two; a skip with fewer than three ranks."""
    if not paces.ranks:
        yield Finding(Status.UNKNOWN, CLUSTER, "No rank told enough steps (waits for TRN001).")
    for subject, rank in paces.ranks.items():
        yield Figure("train_before_collective", rank.pace.own, "seconds", subject)
        yield _judge(subject, rank)


def _judge(subject: Subject, rank: RankPace) -> Finding:
    pace, name = rank.pace, said(subject)
    status, against = Status.SKIP, "with fewer than three ranks to compare"
    if pace.others is not None:
        status = Status.FAIL if pace.is_late else Status.OK
        looks = f" at each of {rank.looks} looks" if pace.is_late and rank.looks > 1 else ""
        against = f"{pace.others * 1e3:.0f} ms the others (late from {pace.bar * 1e3:.0f} ms on){looks}"
    return Finding(
        status,
        subject,
        f"{name} takes {pace.own * 1e3:.0f} ms until its first collective, {against}, and then waits "
        f"{pace.waits * 1e3:.0f} ms.",
        measured=round(pace.own, 5),
        expected=None if pace.others is None else round(pace.bar, 5),
        unit="seconds",
        threshold_source="" if pace.others is None else "the others' median, and the noise of this run",
        evidence=(
            rank.step.record.evidence(f"{name}: step {rank.step.index}, {pace.own * 1e3:.0f} ms until its collective"),
        ),
    )
