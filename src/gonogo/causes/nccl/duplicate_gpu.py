"""Two ranks use one GPU.

## What is wrong
More processes than GPUs on a node, or each process takes the default device instead of its own (LOCAL_RANK).

## Fix
`torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))` before the process group, and one process for each GPU.

## Source
https://pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair, Subject


@cause("nccl.duplicate_gpu", also=True)
def duplicate_gpu(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on NCCL's own word, which names both ranks."""
    seen = events.of("nccl.duplicate_gpu")
    if seen:
        first = seen.first
        yield diagnosis(
            "nccl.duplicate_gpu",
            f"Ranks {first.get('first')} and {first.get('second')} both use the GPU {first.get('device')}.",
            seen,
            events.of("torch.nccl_error"),
            repair=Repair.CHANGE_CODE,
            subjects=[Subject("rank", first.get("first")), Subject("rank", first.get("second"))],
            commands=("nvidia-smi -L | wc -l  # as many as processes a node (--nproc-per-node)",),
        )
