"""A systemd reload took the GPUs from running containers.

## What is wrong
With the systemd cgroup driver a `daemon-reload` sets the device rules of running containers anew, without those
that the NVIDIA runtime added: `Failed to initialize NVML: Unknown Error` in a pod that worked before.

## Fix
Restart the pods; use CDI (or a runtime that declares the devices to systemd), and don't reload units under load.

## Source
https://github.com/NVIDIA/nvidia-container-toolkit/issues/48
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause(
    "runtime.gpu_access_lost_after_daemon_reload", refines=("gpu.driver_not_loaded", "gpu.application_fault"), also=True
)
def gpu_access_lost_after_daemon_reload(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on NVML's word in a container, established by a reload before it."""
    lost = events.of("gpu.nvml_unknown_error")
    if lost:
        yield diagnosis(
            "runtime.gpu_access_lost_after_daemon_reload",
            "A running container lost access to its GPUs.",
            lost,
            events.of("host.daemon_reload"),
            events.of("cuda.no_device"),
            repair=Repair.RESTART_PROCESS,
            commands=(
                "kubectl delete pod <pod>",
                "nvidia-ctk runtime configure --cdi.enabled  # on the node, against the next time",
            ),
        )
