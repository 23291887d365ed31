"""Ranks called different collectives, shapes or types.

## What is wrong
Every rank must call the same collectives in the same order with the same shapes. One that skips a branch, or has a
model or batch of another shape, meets the others in a different call: a hang, a truncated message, or an error that
says so.

## Fix
TORCH_DISTRIBUTED_DEBUG=DETAIL names the call; make the branch the same on all ranks.

## Source
https://pytorch.org/docs/stable/distributed.html#debugging-torch-distributed-applications
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.job.calls import different_calls, told_apart
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair


@cause("job.collective_mismatch", also=True)
def collective_mismatch_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a framework's word, or where ranks timed out in different calls of one number.

    A message of another size before any call is rather one of another NCCL than of another call.
    """
    told = events.of("c10d.collective_mismatch", "c10d.model_mismatch", "c10d.flight_mismatch")
    sizes = Events(tuple(e for e in events.of("nccl.mismatched_size") if "rank count" not in e.text))
    apart = different_calls(events)
    if told or sizes or apart:
        yield diagnosis(
            "job.collective_mismatch",
            told_apart(apart) or "Ranks called different collectives, or with different shapes.",
            told,
            sizes,
            apart,
            events.of("train.shape"),
            repair=Repair.CHANGE_CODE,
            certainty=None
            if told or apart or not all("bootstrap.cc" in e.text for e in sizes)
            else Certainty.HYPOTHESIS,
            next_observation="With TORCH_DISTRIBUTED_DEBUG=DETAIL in the env of all ranks each call is checked "
            "before it is "
            "made, and the first that differs is named with its line.",
        )
