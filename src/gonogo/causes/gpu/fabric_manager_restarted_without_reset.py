"""Fabric manager was restarted, and the GPUs were not reset with it.

## What is wrong
A restart of fabric manager gives the switches a new routing; GPUs that were set up before don't belong to it. NVLS
fails with `invalid argument`, or CUDA with error 802.

## Fix
Reset all GPUs with fabric manager (nvidia-smi -r while nothing runs), or reboot the node.

## Source
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause(
    "gpu.fabric_manager_restarted_without_reset",
    refines=("gpu.fabric_manager_not_running",),
    also=True,
)
def fabric_manager_restarted_without_reset(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where the journal shows a stop and a start, and NVLS (or CUDA) fails since."""
    moves = events.of("gpu.fabric_manager_started")
    stopped = Events(tuple(e for e in moves if re.search("(?i)stopp|restart", e.text)))
    started = Events(tuple(e for e in moves if "Started" in e.text))
    failed = Events((*events.of("nccl.multicast_failed"), *events.of("cuda.system_not_initialized")))
    if stopped and started and failed and not events.of("gpu.fabric_manager_mismatch"):
        yield diagnosis(
            "gpu.fabric_manager_restarted_without_reset",
            "Fabric manager was restarted under the GPUs, and NVLink's multicast fails since.",
            stopped,
            failed,
            started,
            events.of("nccl.cuda_failure"),
            repair=Repair.REBOOT_NODE,
            commands=("systemctl stop nvidia-fabricmanager && nvidia-smi -r && systemctl start nvidia-fabricmanager",),
        )
