"""One GPU is throttled by its hardware: heat or power.

## What is wrong
HW Slowdown halves the clocks of one GPU (or worse), and every rank waits for it at each step.

## Fix
Drain the node; cooling or power must be mended.

## Source
https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_HARDWARE = 0x8 | 0x40 | 0x80
"""Bits of HW slowdown, of heat and of the power brake. https://docs.nvidia.com/deploy/nvml-api/"""


def _holds(value: str, column: str) -> bool:
    """Whether a column of all reasons, as one hexadecimal number, has a bit of the hardware's."""
    whole = re.search(r"(?:throttle|event)_reasons\.active", column) and re.fullmatch(r"0x[\da-fA-F]+", value)
    return bool(whole) and bool(int(value, 16) & _HARDWARE)


@cause("gpu.straggler_hw_slowdown", also=True)
def straggler_hw_slowdown(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a hardware reason that is active; software power caps are everyday."""
    seen = events.of("gpu.slowdown")
    rows = [
        (table, i, str(table.items("columns")[c]).strip())
        for table in objects.of("csv")
        for i, row in enumerate(table.items("rows"))
        for c, value in enumerate(row)
        if _holds(str(value).strip(), str(table.items("columns")[c]))
        or (str(value).strip() == "Active" and re.search(r"hw_\w*(?:slowdown|brake)", str(table.items("columns")[c])))
    ]
    masks = Events(tuple(e for e in events.of("gpu.throttle_mask") if int(e["mask"]) & _HARDWARE))
    if seen or rows or masks:
        reason = (
            (seen.first.get("reason") or seen.first.get("field"))
            if seen
            else rows[0][2]
            if rows
            else f"reasons {masks.first.get('mask')} of GPU {masks.first.get('gpu')}"
        )
        yield diagnosis(
            "gpu.straggler_hw_slowdown",
            f"A GPU is held down by its hardware ({reason}).",
            seen,
            masks,
            [table.cite(("rows", i)) for table, i, _ in rows],
            repair=Repair.REPLACE_NODE,
            commands=("nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER",),
        )
