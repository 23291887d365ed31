"""A PCIe link runs at a lower width or generation.

## What is wrong
A bad slot, riser or cable makes a GPU or NIC negotiate fewer lanes or a lower speed.

## Fix
Reseat or replace the hardware: drain the node.

## Source
https://www.kernel.org/doc/html/latest/PCI/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.smi import smi_rows
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_WIDTH, _WIDEST = "pcie.link.width.current", "pcie.link.width.max"


@cause("hardware.pcie_degraded", also=True)
def pcie_degraded(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the kernel's or lspci's word."""
    seen = events.of("hardware.pcie_degraded")
    narrow = [r for r in smi_rows(objects) if 0 < (r.number(_WIDTH) or 0) < (r.number(_WIDEST) or 0)]
    if narrow and not seen:
        first = narrow[0]
        yield diagnosis(
            "hardware.pcie_degraded",
            f"GPU {first.gpu} has {first.number(_WIDTH):.0f} of {first.number(_WIDEST):.0f} PCIe lanes.",
            [r.cite(_WIDTH) for r in narrow],
            repair=Repair.REPLACE_NODE,
            commands=("lspci -vv -s BUS_ADDRESS | grep -e LnkCap -e LnkSta  # on the node",),
        )
    if seen:
        yield diagnosis(
            "hardware.pcie_degraded",
            "A PCIe link runs below what its device can.",
            seen,
            repair=Repair.REPLACE_NODE,
            commands=(
                "nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.width.current,pcie.link.width.max --format=csv",
            ),
        )
