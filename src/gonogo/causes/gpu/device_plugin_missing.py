"""GPUs exist, and nothing advertises them.

## What is wrong
Without NVIDIA's device plugin (or the GPU operator) nodes offer no nvidia.com/gpu, and pods stay Pending.

## Fix
Install it: `helm install nvdp nvdp/nvidia-device-plugin -n kube-system`, with tolerations for the GPU nodes' taints.

## Source
https://github.com/NVIDIA/k8s-device-plugin
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gonogo.causes.nodes import accelerated, count_of, listing_has
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.unschedulable import unschedulable
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair


@dataclass(frozen=True, slots=True)
class Plugin:
    """What advertises an accelerator: whose it is, what its DaemonSet's name holds, and how it is installed."""

    name: str
    words: tuple[str, ...]
    install: str


_NVIDIA = Plugin("NVIDIA", ("nvidia", "gpu-operator"), "helm install nvdp nvdp/nvidia-device-plugin -n kube-system")
_NEURON = Plugin("Neuron", ("neuron",), "helm install neuron oci://public.ecr.aws/neuron/neuron-helm-chart")
PLUGINS = {
    "nvidia.com/gpu": _NVIDIA,
    "aws.amazon.com/neuron": _NEURON,
    "aws.amazon.com/neuroncore": _NEURON,
    "aws.amazon.com/neurondevice": _NEURON,
}
"""By the resource that pods ask for."""


@cause("gpu.device_plugin_missing", refines=("scheduling.insufficient_resources",), also=True)
def device_plugin_missing(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where pods wait for GPUs, nodes of a GPU type offer none, and no such DaemonSet is listed."""
    for resource, plugin in PLUGINS.items():
        short = [u for u in unschedulable(events) if resource in u.insufficient]
        bare = [n for n in accelerated(objects, resource) if count_of(n, resource) == 0] if short else []
        listed = listing_has(objects, "DaemonSet", plugin.words)
        if not bare or listed or events.of("gpu.driver_absent"):
            continue
        yield diagnosis(
            "gpu.device_plugin_missing",
            f"{len(bare)} nodes have accelerators and offer no {resource}, and no {plugin.name} device plugin is "
            "installed.",
            Events(tuple(u.event for u in short)),
            [
                bare[0].cite("status.allocatable"),
                bare[0].cite(("metadata", "labels", "node.kubernetes.io/instance-type")),
            ],
            [d.cite("metadata.name") for d in (*objects.of("DaemonSet"), *objects.of("DaemonSetList"))][:4],
            repair=Repair.INSTALL_COMPONENT,
            subjects=[n.subject for n in bare],
            certainty=None if listed is False else Certainty.HYPOTHESIS,
            next_observation=f"kubectl get daemonsets -A | grep -i {plugin.words[0]}",
            commands=(plugin.install,),
        )
