"""No rank stands still while the others wait for it.

## Why it matters
A rank that hangs says nothing: every other rank waits in its collective until the timeout, and names a peer that is
innocent as often as not.

## Usual causes
- a stopped process (a debugger, a frozen container), or a node that hangs
- storage that doesn't answer
- a deadlock in the rank's own code

## Fix
On the node that is named: `cat /proc/PID/stack`, `py-spy dump --pid PID`, and the state in `ps -o pid,stat,wchan`.

## Source
https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.collectives import Collectives
from gonogo.facts.endings import nodes_in, ranks_in, stalls
from gonogo.facts.train import TrainRun
from gonogo.kernel import check
from gonogo.model import CLUSTER, Finding, Status, node


@check("JOB002")
def no_rank_stalls(collectives: Collectives, train: TrainRun | None) -> Iterator[Finding]:
    """One finding a node."""
    if not collectives.present and not (train and train.present):
        yield Finding(Status.UNKNOWN, CLUSTER, "No node ran a rank (waits for COL001).")
    runs = [run for run in (collectives, train) if run is not None]
    stalled = stalls(collectives, train)
    ran = {rank.node for run in runs for rank in ranks_in(run).values()}
    for name in nodes_in(collectives):
        if stall := stalled.get(name):
            status = Status.FAIL if stall.is_sure else Status.UNKNOWN
            what = f"{name} stands still" if stall.is_sure else f"Whether {name} stands still is not known"
            yield Finding(status, node(name), f"{what}: {stall.text}.", evidence=stall.evidence)
        elif name in ran:
            yield Finding(
                Status.OK, node(name), f"{name} does not stand still: it answers, and its ranks ended by themselves."
            )
