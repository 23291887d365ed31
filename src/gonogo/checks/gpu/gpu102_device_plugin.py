"""A device plugin for the accelerators is ready on every chosen node.

## Why it matters
Without it a node advertises no GPUs and no training is scheduled there; if it dies later, GPUs turn unhealthy and
running pods are not replaced.

## Usual causes
- the plugin was never installed: it is not part of the EKS AMI
- the DaemonSet doesn't tolerate the nodes' taint, or its affinity needs labels that feature discovery never wrote
- its container fails, for want of a driver or of the NVIDIA runtime

## Fix
Install the NVIDIA device plugin (or GPU operator) with tolerations for the nodes' taints.

## Source
https://github.com/NVIDIA/k8s-device-plugin#deployment-via-helm
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.crowd import crowd
from gonogo.checks.devices import served
from gonogo.facts.kube_nodes import ChosenNodes
from gonogo.facts.kube_pods import DaemonSets, Pods
from gonogo.kernel import Skip, check
from gonogo.model import Finding
from gonogo.plan import Plan


@check("GPU102")
def device_plugin(nodes: ChosenNodes, sets: DaemonSets, pods: Pods, plan: Plan) -> Iterator[Finding]:
    """A node that advertises its GPUs by other means (DRA, a static plugin) is well."""
    yield from crowd(_each(nodes, sets, pods, plan))


def _each(nodes: ChosenNodes, sets: DaemonSets, pods: Pods, plan: Plan) -> Iterator[Finding]:
    found = list(served(nodes, sets, pods, plan, efa=False))
    if not found:
        raise Skip("No chosen node's type has accelerators.")
    yield from found
