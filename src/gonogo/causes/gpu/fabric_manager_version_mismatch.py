"""Fabric manager and the driver are of different versions.

## What is wrong
After an update of the driver alone, fabric manager refuses to start. On machines with NVSwitch CUDA then fails with
error 802.

## Fix
The fabric manager package of exactly the driver's version.

## Source
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause(
    "gpu.fabric_manager_version_mismatch",
    refines=("gpu.fabric_manager_not_running", "gpu.driver_not_loaded"),
    also=True,
)
def fabric_manager_version_mismatch(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on fabric manager's own word, or on two versions that are told beside error 802."""
    seen = events.of("gpu.fabric_manager_mismatch")
    if seen:
        first = seen.first
        yield diagnosis(
            "gpu.fabric_manager_version_mismatch",
            f"Fabric manager is for driver {first.get('manager')}, the driver is {first.get('driver')}.",
            seen,
            events.of("cuda.system_not_initialized"),
            events.of("gpu.fabric_manager_down", "cuda.no_device"),
            repair=Repair.CHANGE_IMAGE,
            commands=(
                f"apt-get install nvidia-fabricmanager-{first.get('driver').split('.')[0]}={first.get('driver')}-1",
            ),
        )
        return
    manager, told = events.of("gpu.fabric_manager_version"), events.of("cuda.system_not_initialized")
    driver = events.of("gpu.driver_version", "gpu.driver_package")
    ours, theirs = manager.values("manager"), driver.values("driver")
    if told and len(ours) == 1 and len(theirs) == 1 and ours != theirs:
        wanted = theirs[0]
        yield diagnosis(
            "gpu.fabric_manager_version_mismatch",
            f"Fabric manager is for driver {ours[0]}, the driver is {wanted}.",
            manager,
            driver,
            told,
            repair=Repair.CHANGE_IMAGE,
            commands=(f"apt-get install nvidia-fabricmanager-{wanted.split('.')[0]}={wanted}-1",),
        )
