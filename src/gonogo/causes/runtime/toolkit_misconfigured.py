"""The container runtime doesn't inject the GPUs.

## What is wrong
The driver works on the node, but containers see no device: the NVIDIA runtime isn't containerd's default, its
handler is missing, or the device plugin runs without it.

## Fix
`nvidia-ctk runtime configure --runtime=containerd --set-as-default`, then restart containerd.

## Source
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("runtime.toolkit_misconfigured", refines=("gpu.driver_not_loaded", "pod.command_not_found"), also=True)
def toolkit_misconfigured(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a missing runtime handler, or on a plugin without NVML where the node's driver is seen to work."""
    handler = events.of("runtime.handler_missing")
    blind = Events(
        tuple(
            e
            for e in events.of("gpu.driver_absent")
            if re.search(r"NVML library|No valid resources|Incompatible", e.text)
        )
    )
    works = events.of("gpu.driver_version")
    plain = events.of("runtime.default_is_runc")
    unseen = Events((*events.of("cuda.no_device"), *events.of("pod.command_not_found").where(command="nvidia-smi")))
    if plain and (unseen or blind) and not handler:
        yield diagnosis(
            "runtime.toolkit_misconfigured",
            "containerd's default runtime is runc, and no runtime class asks for NVIDIA's: the container sees no GPU.",
            plain,
            unseen,
            blind,
            repair=Repair.CHANGE_CLUSTER,
            commands=(
                "nvidia-ctk runtime configure --runtime=containerd --set-as-default && systemctl restart containerd",
            ),
        )
        return
    if handler or (blind and works):
        yield diagnosis(
            "runtime.toolkit_misconfigured",
            f"The container runtime does not give GPUs to containers: {_named(handler.first)}."
            if handler
            else "The node's driver works and containers don't see it.",
            handler,
            blind,
            works,
            [r.cite("handler") for r in objects.of("RuntimeClass")],
            repair=Repair.CHANGE_CLUSTER,
            commands=(
                "nvidia-ctk runtime configure --runtime=containerd --set-as-default && systemctl restart containerd",
            ),
        )


def _named(event: Event) -> str:
    """What is missing, in the runtime's words."""
    name = event.get("handler") or event.get("named") or event.get("docker") or event.get("cdi")
    return f"it knows no {name}" if name else event.text.strip()[:120]
