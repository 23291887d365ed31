"""The job asks for more GPU memory than there is.

## What is wrong
Model, optimizer state and activations don't fit the GPU's memory. Nothing else holds it.

## Fix
Smaller batches, activation checkpointing, sharding (FSDP, ZeRO), or a GPU with more memory.

## Source
https://pytorch.org/docs/stable/notes/cuda.html#memory-management
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.gpu.memory import held_by_others
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("gpu.out_of_memory", refines=("pod.user_code_error",), also=True)
def out_of_memory(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where memory ran out and no other process is seen to hold it."""
    full = events.of("torch.cuda_oom")
    if full and not held_by_others(events):
        wanted = next((w for e in full if (w := e.get("wanted") or e.get("asked"))), "")
        yield diagnosis(
            "gpu.out_of_memory",
            f"{full.first.who} ran out of GPU memory{f' asking for {wanted}' if wanted else ''}.",
            full,
            repair=Repair.CHANGE_JOB,
            subjects=[full.first.subject],
        )
