"""The GPU's system processor does not answer.

## What is wrong
Xid 119 or 120: a call to the GPU System Processor timed out or it failed. The GPU hangs until it is reset.

## Fix
Reboot the node; a newer driver, or GSP turned off (NVreg_EnableGpuFirmware=0) where it comes again.

## Source
https://docs.nvidia.com/deploy/xid-errors/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("gpu.gsp_timeout", also=True)
def gsp_timeout(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on Xid 119 and 120, or on the driver's words for it."""
    seen = Events(tuple(e for e in events.of("gpu.xid") if e["xid"] in (119, 120)))
    words = events.of("gpu.gsp_silent")
    if seen or words:
        named = f"GPU {seen.first.get('gpu')}" if seen else words.first.get("gpu")
        number = f" (Xid {seen.first.get('xid')})" if seen else ""
        yield diagnosis(
            "gpu.gsp_timeout",
            f"The system processor of {named} does not answer{number}.",
            seen,
            words,
            waiting(events),
            repair=Repair.REBOOT_NODE,
            commands=("nvidia-smi -q | grep -i gsp",),
        )
