"""An NVLink or NVSwitch error.

## What is wrong
A link between GPUs failed (Xid 74, 144 to 150, or an SXid of the switch). All GPUs of the node that talk over it stop;
their own Xid 45 lines only follow.

## Fix
Reset the GPUs with fabric manager, and replace the node if it comes again.

## Source
https://docs.nvidia.com/deploy/xid-errors/index.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_MILD = re.compile(r"(?i)\bnon-?fatal\b")
_NVLINK = (74, 144, 145, 146, 147, 148, 149, 150)


@cause("gpu.nvlink_fault", refines=("gpu.application_fault",), also=True)
def nvlink_fault(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on such an Xid or SXid that the driver does not call non-fatal, or on CUDA's word."""
    xids = Events(tuple(e for e in events.of("gpu.xid") if e["xid"] in _NVLINK and not _MILD.search(e.get("text"))))
    mild = {e["sxid"] for e in events.of("gpu.sxid") if _MILD.search(e.get("text"))}
    switch = Events(tuple(e for e in events.of("gpu.sxid") if e["sxid"] not in mild))
    told = events.of("cuda.nvlink_error")
    if xids or told or switch:
        first = next(iter((*xids, *switch)), None)
        named = f" at {first.get('gpu')} (Xid {first.get('xid') or first.get('sxid')})" if first else ""
        yield diagnosis(
            "gpu.nvlink_fault",
            f"An NVLink error{named} stopped the GPUs.",
            xids,
            switch,
            told,
            waiting(events),
            repair=Repair.REBOOT_NODE,
            commands=("nvidia-smi nvlink -e; nvidia-smi nvlink -s",),
        )
