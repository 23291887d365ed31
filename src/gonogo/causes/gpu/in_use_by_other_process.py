"""Something else holds the GPU's memory.

## What is wrong
A process that an earlier job left behind, or another pod, has most of the memory: the job runs out although its own
use is small.

## Fix
End the process that nvidia-smi names.

## Source
https://docs.nvidia.com/deploy/nvidia-smi/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.gpu.memory import held_by_others
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("gpu.in_use_by_other_process", refines=("pod.user_code_error",), also=True)
def in_use_by_other_process(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where memory ran out and another process was seen to hold it, or the GPU is busy."""
    busy = events.of("gpu.in_use")
    full = events.of("torch.cuda_oom")
    holders = held_by_others(events)
    if busy or (full and holders):
        named = holders.first.get("pid") if holders else ""
        yield diagnosis(
            "gpu.in_use_by_other_process",
            f"Another process{f' ({named})' if named else ''} holds the GPU.",
            busy,
            holders,
            full,
            repair=Repair.RESTART_PROCESS,
            commands=("nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv", "fuser -v /dev/nvidia*"),
        )
