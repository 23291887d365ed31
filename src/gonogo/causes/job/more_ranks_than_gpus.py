"""More processes a node than GPUs.

## What is wrong
The launcher starts more ranks than the container has GPUs; the last ones choose a device that isn't there.

## Fix
--nproc-per-node=gpu, or as many as `nvidia.com/gpu` in the pod.

## Source
https://pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects, pod_specs, requests
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause(
    "job.more_ranks_than_gpus",
    refines=("nccl.duplicate_gpu", "pod.user_code_error", "gpu.application_fault"),
    also=True,
)
def more_ranks_than_gpus(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a device number that isn't there, or on a duplicate where a pod starts more ranks than it has GPUs."""
    seen = events.of("cuda.invalid_device_ordinal")
    starts = events.of("job.processes_per_node")
    gpus = [(o, s, requests(o, s, "nvidia.com/gpu")) for o, s in pod_specs(objects)]
    many = [e for e in starts for _, _, g in gpus if g and int(e["processes"]) > g]
    if seen or (many and events.of("nccl.duplicate_gpu")):
        yield diagnosis(
            "job.more_ranks_than_gpus",
            "The launcher starts more ranks on a node than the pod has GPUs.",
            seen,
            Events(tuple(many)) if many else starts,
            [o.cite((*s, "containers", 0, "resources", "limits", "nvidia.com/gpu")) for o, s, g in gpus if g],
            events.of("nccl.duplicate_gpu"),
            repair=Repair.CHANGE_JOB,
            commands=("nvidia-smi -L | wc -l  # on the node: at most so many ranks",),
            next_observation="torchrun with --nproc-per-node=gpu starts as many ranks as the node has GPUs.",
        )
