"""The image's CUDA needs a newer driver than the node has.

## What is wrong
A CUDA release runs on drivers from a certain version on. The node's AMI has an older one.

## Fix
A newer AMI (driver), or an image with an older CUDA.

## Source
https://docs.nvidia.com/deploy/cuda-compatibility/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects, pod_specs
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("gpu.driver_too_old_for_image", refines=("gpu.driver_not_loaded", "pod.command_not_found"), also=True)
def driver_too_old_for_image(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on CUDA's, PyTorch's or the container runtime's word."""
    seen = events.of("cuda.driver_too_old")
    if seen:
        wanted = next(iter(seen.values("wanted")), "")
        found = next(iter(seen.values("found")), "")
        smi = events.of("gpu.driver_version")
        yield diagnosis(
            "gpu.driver_too_old_for_image",
            f"The image's CUDA{f' (needs {wanted})' if wanted else ''} is too new for the node's driver"
            f"{f' (CUDA {int(found) // 1000}.{int(found) % 1000 // 10})' if found else ''}.",
            seen,
            smi,
            [
                o.cite((*s, "containers", 0, "image"))
                for o, s in pod_specs(objects)
                if o.get((*s, "containers", 0, "image"))
            ],
            repair=Repair.CHANGE_IMAGE,
            commands=("nvidia-smi --query-gpu=driver_version --format=csv  # on the node",),
        )
