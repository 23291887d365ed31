"""No rank is killed while it works.

## Why it matters
One rank that dies ends the job for all; the others report closed connections or timeouts, and blame each other.

## Usual causes
- the out-of-memory killer (signal 9, and the kernel's log says so)
- a crash in native code (signal 11, 7 or 6): a full /dev/shm, a bad driver, a fault in a library
- preemption, a node repair, or somebody's kill

## Fix
Look at the rank that is named, not at those that complain: its exit status, `dmesg` on its node, its pod's last state.

## Source
https://man7.org/linux/man-pages/man7/signal.7.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gonogo.facts.collectives import Collectives
from gonogo.facts.endings import Ending, endings
from gonogo.facts.train import TrainRun
from gonogo.kernel import check
from gonogo.model import CLUSTER, Finding, Status, node

MOST = 3
"""Processes of a node that are told one by one: of collectives, of training, and its agent."""


@check("JOB001")
def no_rank_killed(collectives: Collectives, train: TrainRun | None) -> Iterator[Finding]:
    """One finding a node, over the processes of both steps and the agent itself."""
    if not collectives.present and not (train and train.present):
        yield Finding(Status.UNKNOWN, CLUSTER, "No node ran a rank (waits for COL001).")
    for name, told in endings(collectives, train).items():
        killed = [e for e in told if e.signal]
        if killed:
            first = killed[0]
            message = f"{name}: {first.who} was killed by {first.spelled} in {first.at}."
            yield Finding(Status.FAIL, node(name), message, first.signal, evidence=first.evidence)
        elif told:
            yield Finding(
                Status.OK, node(name), f"{name}: no rank was killed ({_spell(told)}).", evidence=told[0].evidence
            )


def _spell(told: list[Ending]) -> str:
    """Each process, or how many ended alike where a node has several."""
    if len(told) <= MOST:
        return "; ".join(f"{e.who} {e.said}" for e in told)
    return "; ".join(f"{n} of its {len(told)} processes {said}" for said, n in Counter(e.said for e in told).items())
