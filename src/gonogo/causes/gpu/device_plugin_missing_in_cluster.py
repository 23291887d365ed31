"""Nodes have GPUs, and nothing advertises them.

## What is wrong
The device plugin is not installed, or has no pod on these nodes, so they offer no GPUs to pods.

## Fix
`helm upgrade --install nvidia-device-plugin nvdp/nvidia-device-plugin -n kube-system`

## Source
https://github.com/NVIDIA/k8s-device-plugin
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import no_plugin
from gonogo.documents.kubernetes import PodsDocument
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis


@cause("gpu.device_plugin_missing", refines=("scheduling.insufficient_resources",))
def device_plugin_missing(findings: Findings, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """Nodes that advertise none, and no plugin to blame for it."""
    yield from no_plugin(
        "gpu.device_plugin_missing", "GPUs", findings, pods, number="GPU101", plugin="GPU102",
        install="helm upgrade --install nvidia-device-plugin nvdp/nvidia-device-plugin -n kube-system",
    )  # fmt: skip
