"""The framework was not built for this GPU.

## What is wrong
A binary holds code for some architectures of GPUs, and this one's is not among them: a GPU that is newer than the
framework's build, or older than what it still supports; or an extension that was compiled on another kind of machine.

## Fix
A build of the framework for this GPU (`torch.cuda.get_arch_list()` names what it has); extensions anew with
TORCH_CUDA_ARCH_LIST.

## Source
https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("software.gpu_not_supported", refines=("pod.user_code_error",), also=True)
def gpu_not_supported(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on CUDA's word; torch's warning at its import is evidence beside it."""
    told = events.of("cuda.no_kernel")
    if told:
        gpu = events.of("torch.gpu_unsupported")
        which = f"{gpu.first.get('gpu').strip()} ({gpu.first.get('arch')})" if gpu else "this GPU"
        yield diagnosis(
            "software.gpu_not_supported",
            f"A library of the program has no code for {which}.",
            told,
            gpu,
            events.of("python.exception", "nccl.cuda_failure"),
            repair=Repair.CHANGE_IMAGE,
            commands=(
                "python3 -c 'import torch; print(torch.__version__, torch.cuda.get_arch_list(), "
                "torch.cuda.get_device_capability())'  # in the image, on this node",
            ),
        )
