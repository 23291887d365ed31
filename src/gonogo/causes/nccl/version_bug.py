"""A known bug of this NCCL version.

## What is wrong
Some failures belong to versions of NCCL and the driver, such as NVLS that can't be set up.

## Fix
Another NCCL; as a way around, the feature off (NCCL_NVLS_ENABLE=0).

## Source
https://docs.nvidia.com/deeplearning/nccl/release-notes/index.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_LOSES_SLOTS = re.compile(r"^2\.28\.|^2\.29\.[0-2]$")
"""Versions in which, on Arm, an exchange that failed is taken for one that succeeded."""


@cause("nccl.version_bug", also=True)
def version_bug(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on lines that are known to be such a bug's."""
    stacks = events.of("nccl.stack").where(function="ncclLocalOpAppend")
    slots = events.of("nccl.version").where(version=_LOSES_SLOTS)
    if stacks and slots:
        yield diagnosis(
            "nccl.version_bug",
            f"NCCL {slots.first.get('version')} loses slots of its proxy, and ranks spin in ncclLocalOpAppend.",
            stacks,
            slots,
            repair=Repair.CHANGE_IMAGE,
            commands=("pip install 'nvidia-nccl-cu13>=2.29.3'  # in the image",),
        )
        return
    seen = Events(tuple(e for e in events.of("nccl.known_bug") if "uncorrectable" not in e.text))
    if seen and events.of("torch.nccl_error", "nccl.cuda_failure"):
        yield diagnosis(
            "nccl.version_bug",
            f"NCCL {next(iter(events.of('nccl.version').values('version')), '')} fails to set up NVLink SHARP.",
            seen,
            events.of("nccl.version"),
            repair=Repair.CHANGE_IMAGE,
            commands=("export NCCL_NVLS_ENABLE=0",),
        )
