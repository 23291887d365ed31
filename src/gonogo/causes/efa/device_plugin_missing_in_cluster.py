"""Nodes have EFA adapters, and nothing advertises them.

## What is wrong
The device plugin is not installed, or has no pod on these nodes, so they offer no EFA adapters to pods.

## Fix
`helm upgrade --install efa eks/aws-efa-k8s-device-plugin -n kube-system`

## Source
https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import no_plugin
from gonogo.documents.kubernetes import PodsDocument
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis


@cause("efa.device_plugin_missing", refines=("scheduling.insufficient_resources",))
def device_plugin_missing(findings: Findings, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """Nodes that advertise none, and no plugin to blame for it."""
    yield from no_plugin(
        "efa.device_plugin_missing", "EFA adapters", findings, pods, number="EFA101", plugin="EFA102",
        install="helm upgrade --install efa eks/aws-efa-k8s-device-plugin -n kube-system",
    )  # fmt: skip
