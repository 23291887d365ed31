"""Ranks have different numbers of batches.

## What is wrong
One rank's data ended earlier: it went on to validation (or the end) while the others wait for it in a gradient's
all-reduce. Same sequence number, different call.

## Fix
drop_last, padding or a DistributedSampler; or DDP's Join context.

## Source
https://pytorch.org/tutorials/advanced/generic_join.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.job.calls import different_calls
from gonogo.causes.network.symptoms import WAITING
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("job.collective_mismatch_uneven_batches", refines=("job.collective_mismatch", "job.rank_stalled"), also=True)
def collective_mismatch_uneven_batches(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where ranks differ in their calls, or lost each other, and their logs show other numbers of batches."""
    apart = different_calls(events)
    progress = events.of("train.metrics_progress")
    of_length = (*progress, *events.of("train.loader_length"))
    counted = Events(tuple(e for e in of_length if "batches" in e.captures or "length" in e.captures))
    totals = sorted({_batches(e) for e in counted})
    lost = events.of("gloo.peer_gone", "nccl.peer_gone", *WAITING) if len(totals) > 1 else Events()
    ahead = Events(tuple(e for e in progress if re.search(r"validation|evaluat", e.get("what"))))
    behind = set(apart.writers) - set(ahead.writers)
    if (apart and (len(totals) > 1 or (ahead and behind))) or (lost and _last_differ(counted)):
        told = f" ({' and '.join(totals)})" if len(totals) > 1 else ""
        yield diagnosis(
            "job.collective_mismatch_uneven_batches",
            f"Ranks have different numbers of batches{told}: one has gone on while others wait for it.",
            apart,
            ahead,
            Events(tuple({(e.file, _batches(e)): e for e in counted}.values())),
            lost,
            events.of("job.exit_zero"),
            repair=Repair.CHANGE_CODE,
            next_observation="How many batches each rank has: len(loader). A DistributedSampler with "
            "drop_last=True gives "
            "all the same.",
        )


def _batches(event: Event) -> str:
    return event.get("batches") or event.get("length")


def _last_differ(counted: Events) -> bool:
    """Whether ranks (or files, where no line tells the rank) each count to a number of their own."""
    own: dict[str, set[str]] = {}
    for e in counted:
        own.setdefault(str(e.who.rank if e.who.rank is not None else e.file), set()).add(_batches(e))
    return len(own) > 1 and len({frozenset(v) for v in own.values()}) > 1
