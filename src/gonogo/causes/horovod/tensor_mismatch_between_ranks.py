"""Ranks submit different tensors.

## What is wrong
Horovod matches tensors by name. Ranks that build their graph differently (a scope named after the GPU, a branch on the
rank) wait for each other's names for ever.

## Fix
The same graph on every rank.

## Source
https://github.com/horovod/horovod/issues/100
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair, Subject


@cause("horovod.tensor_mismatch_between_ranks", refines=("horovod.missing_ranks_stall",), also=True)
def tensor_mismatch_between_ranks(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on Horovod's word, or where each rank waits for names that are alike and not the same."""
    told = events.of("horovod.mismatch")
    lists = events.of("horovod.waiting_tensors")
    names: dict[int, set[str]] = {}
    for e in lists:
        names.setdefault(int(e["rank"]), set()).update(t.strip() for t in e.get("tensors").split(","))
    ranks = sorted(names)
    crossed = len(ranks) > 1 and all(names[a] and not names[a] & names[b] for a in ranks for b in ranks if a < b)
    if told or crossed:
        yield diagnosis(
            "horovod.tensor_mismatch_between_ranks",
            f"Ranks {', '.join(map(str, ranks[:4]))} submit tensors of different names."
            if crossed
            else f"Ranks submit one tensor differently: {told.first.get('what')}.",
            told,
            lists if crossed else None,
            events.of("horovod.stall"),
            repair=Repair.CHANGE_CODE,
            subjects=[Subject("rank", str(r)) for r in ranks] if crossed else [],
        )
