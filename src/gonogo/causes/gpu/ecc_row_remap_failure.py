"""A row of GPU memory could not be remapped: replace the GPU.

## What is wrong
The GPU has no spare rows left for a bad one (Xid 64, or `Remapping Failure Occurred: Yes`). Errors will come again.

## Fix
Replace the node.

## Source
https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.smi import smi_rows
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("gpu.ecc_row_remap_failure", refines=("gpu.ecc_uncorrectable",), also=True)
def ecc_row_remap_failure(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on Xid 64 or on nvidia-smi's word."""
    xid = events.of("gpu.xid").where(xid=64)
    told = events.of("gpu.remap_failure")
    rows = [r for r in smi_rows(objects) if r.values.get("remapped_rows.failure") in ("1", "Yes")]
    if xid or told or rows:
        yield diagnosis(
            "gpu.ecc_row_remap_failure",
            f"A row of GPU {xid.first.get('gpu') if xid else rows[0].gpu if rows else 'memory'} could not be remapped.",
            xid,
            [r.cite("remapped_rows.failure") for r in rows],
            told,
            events.of("cuda.ecc_error"),
            events.of("gpu.xid").where(xid=48),
            repair=Repair.REPLACE_NODE,
            commands=("nvidia-smi -q -d ROW_REMAPPER",),
        )
