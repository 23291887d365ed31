"""No working NVIDIA driver on the node.

## What is wrong
The kernel module isn't loaded, or is of another version than its libraries (an update without a reboot).

## Fix
Reboot the node, or replace it with one of a GPU AMI.

## Source
https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/index.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("gpu.driver_not_loaded", also=True)
def driver_not_loaded(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the driver's tools' word."""
    mismatch = events.of("gpu.driver_library_mismatch")
    absent = Events(
        tuple(
            e
            for e in events.of("gpu.driver_absent")
            if re.search(r"communicate with the NVIDIA|Module nvidia not found|(?i:not[ _]loaded)", e.text)
        )
    )
    if mismatch or absent:
        yield diagnosis(
            "gpu.driver_not_loaded",
            "The driver in the kernel and its libraries are of different versions."
            if mismatch
            else "The NVIDIA driver is not loaded.",
            mismatch,
            absent,
            events.of("cuda.no_device", "k8s.admission_failed"),
            events.of("gpu.package_upgrade"),
            repair=Repair.REBOOT_NODE,
            commands=("cat /proc/driver/nvidia/version; dmesg | grep -i nvrm | tail",),
        )
