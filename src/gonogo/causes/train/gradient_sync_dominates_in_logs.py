"""Communication isn't hidden: GPUs idle.

## What is wrong
Most of a step is gradient exchange that the backward pass does not cover: the network is too slow for the model.

## Fix
A faster network (EFA), larger batches or gradient accumulation, bf16 gradients, sharding over nodes that are near.

## Source
https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.causes.train.steps import step_shares, timed
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("train.gradient_sync_dominates", also=True)
def gradient_sync_dominates_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where exposed communication takes over half of a step, by the job's own numbers."""
    if (timer := timed(events, "train.timer_sync")) and timer[0] > 0.5:
        yield diagnosis(
            "train.gradient_sync_dominates",
            f"Exposed communication takes {timer[0]:.0%} of a step.",
            timer[1],
            events.of("host.bandwidth_test", "nccl.network"),
            repair=Repair.CHANGE_CODE,
        )
        return
    slow = [s for s in step_shares(objects) if s.sync > 0.5 * s.total]
    if slow:
        yield diagnosis(
            "train.gradient_sync_dominates",
            f"Exposed communication takes {slow[0].sync / slow[0].total:.0%} of a step.",
            [s.evidence for s in slow[:4]],
            events.of("host.bandwidth_test"),
            events.of("host.instance_type"),
            repair=Repair.CHANGE_CLUSTER,
            next_observation="Whether steps are faster with model.no_sync() around all but the last of "
            "accumulated steps.",
        )
