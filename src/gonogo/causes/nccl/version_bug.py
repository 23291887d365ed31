"""A known bug of this NCCL version.

## What is wrong
Some failures belong to versions of NCCL, such as 2.28, which on Arm loses slots of its proxy.

## Fix
Another NCCL.

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
