"""Fabric manager isn't running on a machine with NVSwitch.

## What is wrong
On p4d, p5 and their like CUDA works only when fabric manager has set up the switches: error 802, system not yet
initialized.

## Fix
Start the service; if it fails, its journal says why.

## Source
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair


@cause("gpu.fabric_manager_not_running", refines=("gpu.driver_not_loaded",), also=True)
def fabric_manager_not_running(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on error 802, or on a service that is down beside processes that see no GPU."""
    told = events.of("cuda.system_not_initialized")
    down = events.of("gpu.fabric_manager_down")
    if told or (down and events.of("cuda.no_device", "torch.nccl_error", "gpu.fabric_in_progress")):
        yield diagnosis(
            "gpu.fabric_manager_not_running",
            "Fabric manager does not run, so CUDA is not initialised (error 802).",
            told,
            down,
            events.of("cuda.no_device", "gpu.fabric_in_progress"),
            repair=Repair.RESTART_PROCESS,
            commands=("systemctl enable --now nvidia-fabricmanager; journalctl -u nvidia-fabricmanager -n 50",),
        )
    elif failed := events.of("nccl.multicast_failed"):
        yield diagnosis(
            "gpu.fabric_manager_not_running",
            "NVLink SHARP can't be set up: fabric manager is down, or was restarted under the GPUs, or a switch fails.",
            failed,
            events.of("torch.nccl_error", "nccl.cuda_failure"),
            repair=Repair.RESTART_PROCESS,
            certainty=Certainty.HYPOTHESIS,
            next_observation="What fabric manager's journal says, and since when it runs; NCCL_NVLS_ENABLE=0 is the "
            "way around until then.",
            commands=("systemctl status nvidia-fabricmanager; journalctl -u nvidia-fabricmanager -n 50",),
        )
