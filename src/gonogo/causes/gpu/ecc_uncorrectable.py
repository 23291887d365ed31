"""An uncorrectable memory error in use.

## What is wrong
GPU memory returned data that ECC could not mend (Xid 48, 94, 95), and the process that used it was ended.

## Fix
Reset the GPU (reboot the node) so that the row is remapped; replace it when it comes again.

## Source
https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.signatures import Role
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("gpu.ecc_uncorrectable", refines=("gpu.application_fault",), also=True)
def ecc_uncorrectable(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on CUDA's word, or on such an Xid beside a job that failed or errors counted since the last reset."""
    xids = Events(tuple(e for e in events.of("gpu.xid") if e["xid"] in (48, 94, 95)))
    told = Events(tuple(e for e in events.of("cuda.ecc_error") if "NVLink" not in e.text))
    counted = events.of("gpu.ecc_count")
    uncontained = Events(tuple(e for e in xids if e["xid"] in (48, 95)))
    failed = events.role(Role.INITIATING, Role.CASCADE)
    if told or (xids and failed) or (uncontained and (counted or not events.of("job.finished"))):
        which = ", ".join(dict.fromkeys(str(e["xid"]) for e in xids))
        yield diagnosis(
            "gpu.ecc_uncorrectable",
            f"GPU memory had an uncorrectable error{f' (Xid {which})' if which else ''}.",
            xids,
            told,
            counted,
            repair=Repair.REBOOT_NODE,
            commands=("nvidia-smi -q -d ECC,ROW_REMAPPER",),
        )
