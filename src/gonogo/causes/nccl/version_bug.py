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
from itertools import product

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair

_LOSES_SLOTS = re.compile(r"^2\.28\.|^2\.29\.[0-2]$")
"""Versions in which, on Arm, an exchange that failed is taken for one that succeeded."""

_WRONG = re.compile("illegal|misaligned|FAILED")
"""What a test of NCCL itself ends with, where no setting can be to blame."""


@cause("nccl.version_bug", refines=("gpu.silent_data_corruption",), also=True)
def version_bug(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on lines that are known to be such a bug's."""
    if bug := _with_another(events):
        yield bug
        return
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


def _with_another(events: Events) -> Diagnosis | None:
    """nccl-tests goes wrong with one NCCL, and is well on the same GPUs with another."""
    failed = events.of("nccl.test_failed").where(error=_WRONG)
    good = events.of("nccl.test_result").where(result="OK")
    versions = events.of("nccl.version")
    gpus = {f: {(e["host"], e["bus"]) for e in events.of("nccl.test_device") if e.file == f} for f in versions.files}
    for bad, well in product(failed, good):
        old, new = _before(bad, versions), _before(well, versions)
        if old and new and old["version"] != new["version"]:
            alike = bool(gpus[bad.file]) and gpus[bad.file] == gpus[well.file]
            return diagnosis(
                "nccl.version_bug",
                f"nccl-tests goes wrong with NCCL {old['version']}, and is well with {new['version']}.",
                Events((bad, old)),
                Events((well, new)),
                repair=Repair.CHANGE_IMAGE,
                certainty=None if alike else Certainty.HYPOTHESIS,
                explains=events.of("cuda.application_fault", "nccl.test_failed", "torch.nccl_error"),
                next_observation="" if alike else "Both versions on the same GPUs.",
                commands=("python -c 'import torch; print(torch.cuda.nccl.version())'  # in the image",),
            )
    return None


def _before(event: Event, told: Events) -> Event | None:
    """The last of some lines that stands before another in its file."""
    return next((e for e in reversed(told.all) if e.file == event.file and e.line < event.line), None)
