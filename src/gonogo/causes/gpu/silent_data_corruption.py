"""A GPU computes wrong results.

## What is wrong
Collectives or matrix products give other numbers than they should, without any error. Training diverges or learns less.

## Fix
Take the node out; find the GPU with `dcgmi diag -r 3` and a run of each node alone.

## Source
https://github.com/NVIDIA/nccl-tests
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("gpu.silent_data_corruption", also=True)
def silent_data_corruption(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a test counts wrong elements; one without a node that is right settles it."""
    results = events.of("nccl.test_result")
    wrong = Events(tuple(e for e in results if int(e["wrong"]) > 0))
    told = events.of("gpu.wrong_result")
    if wrong or told:
        yield diagnosis(
            "gpu.silent_data_corruption",
            f"A collective returned {wrong.first['wrong']} wrong elements."
            if wrong
            else f"A GPU computes wrong results: {told.first.get('error')[:120]}.",
            wrong,
            told,
            Events(tuple(e for e in results if int(e["wrong"]) == 0)),
            events.of("gpu.diagnostic_failed"),
            repair=Repair.REPLACE_NODE,
            commands=("dcgmi diag -r 3  # on each node",),
        )
