"""One rank hangs and the others wait for it.

## What is wrong
All ranks but one are in the same collective; that one never called it and has not ended: it waits for data, a lock, a
debugger, or its GPU.

## Fix
`py-spy dump --pid PID` on that rank.

## Source
https://pytorch.org/tutorials/unstable/flight_recorder_tutorial.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair, Subject


@cause("job.rank_stalled", also=True)
def rank_stalled_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a barrier names the missing rank, or one rank's last finished call is behind all others'."""
    named = events.of("c10d.monitored_barrier", "c10d.flight_missing")
    if apart := events.of("nccl.ras_counts_differ"):
        told = events.of("nccl.ras_behind")
        ranks = told.values("rank")
        yield diagnosis(
            "job.rank_stalled",
            f"NCCL's RAS service shows rank {', '.join(ranks[:8]) or '?'} behind the others.",
            apart,
            told,
            waiting(events),
            repair=Repair.INSPECT,
            subjects=[Subject("rank", r) for r in ranks],
            commands=tuple(f"py-spy dump --pid {e['pid']}  # on {e['node']}" for e in told)[:3],
        )
        return
    states = [e for e in events.of("c10d.work_state") if e.who.rank is not None]
    enqueued = {e.who.rank: int(e["enqueued"]) for e in states}
    behind = [r for r, n in enqueued.items() if n < max(enqueued.values())]
    lags = len(enqueued) > 2 and len(behind) == 1
    if named or lags:
        who = named.first.get("missing") if named else str(behind[0])
        yield diagnosis(
            "job.rank_stalled",
            f"Rank {who} did not come to a collective that all others are in.",
            named,
            Events(tuple(e for e in states if e.who.rank in behind)) if lags else None,
            waiting(events),
            repair=Repair.INSPECT,
            subjects=[Subject("rank", who)],
            commands=("py-spy dump --pid $(pgrep -f train.py | head -1)  # in that rank's pod",),
        )
