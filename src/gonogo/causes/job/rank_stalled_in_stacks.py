"""One rank hangs outside of the collective that the others wait in.

## What is wrong
The stacks of the ranks differ: one is in a read, a lock or other work of the program, all others in a collective.

## Fix
What the rank's innermost frame waits for.

## Source
https://github.com/benfred/py-spy
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair, Subject

_COLLECTIVE = re.compile(r"torch/distributed/|torch/nn/parallel/|torch/cuda/|torch/autograd/|horovod/|deepspeed/comm")
_CALLS = re.compile(
    r"^(?:all_?reduce|all_?gather\w*|reduce_scatter\w*|barrier|broadcast|synchronize|wait|item|backward)$"
)


@cause("job.rank_stalled", also=True)
def rank_stalled_in_stacks(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where one rank's main thread is outside of every collective, and the others' are in one or timed out."""
    late = waiting(events)
    stacks = _stacks(events)
    outside = [rank for rank, frames in stacks.items() if not any(_is_in_collective(f) for f in frames)]
    others = (set(stacks) | {e.who.rank for e in late if e.who.rank is not None}) - set(outside)
    if not late or len(outside) != 1 or not others or outside[0] in {e.who.rank for e in late}:
        return
    rank = outside[0]
    frames = stacks[rank]
    inner = frames[0]
    yield diagnosis(
        "job.rank_stalled",
        f"Rank {rank} is in {inner.get('function')} ({inner.get('path')}:{inner.get('at')}), and the others wait "
        "for it in a collective.",
        Events(tuple(frames[:3])),
        late,
        repair=Repair.INSPECT,
        subjects=[Subject("rank", str(rank))],
        commands=("py-spy dump --pid <pid>  # twice: a rank that hangs stays in one place",),
    )


def _stacks(events: Events) -> dict[int, list[Event]]:
    """Rank -> the frames of its main thread, the innermost first."""
    told = sorted(events.of("stack.of_rank", "stack.main_thread", "stack.frame"), key=lambda e: (e.file, e.line))
    found: dict[int, list[Event]] = {}
    rank: int | None = None
    here, last = "", 0
    for e in told:
        if e.file != here:
            here, rank, last = e.file, e.who.rank, 0
        if e.signature == "stack.of_rank":
            rank = int(e["rank"])
        elif e.signature == "stack.main_thread" and rank is not None:
            found[rank] = []
            last = e.line
        elif e.signature == "stack.frame" and rank in found and e.line == last + 1:
            found[rank].append(e)
            last = e.line
    return {r: frames for r, frames in found.items() if frames}


def _is_in_collective(frame: Event) -> bool:
    return bool(_COLLECTIVE.search(frame.get("path")) or _CALLS.match(frame.get("function")))
