"""Every chosen node offers as many GPUs as its instance type has.

## Why it matters
The scheduler knows of GPUs only what the device plugin advertises. A node with 7 of 8 takes no pod that asks for 8; one
with none is an expensive CPU node. Nothing reports an error.

## Usual causes
- a GPU fell off the bus or was marked unhealthy by the device plugin
- the device plugin isn't running on the node, or the image has no driver
- MIG or time slicing advertises something other than whole GPUs

## Fix
Look at `nvidia-smi` and the kernel log on the node and at the plugin's log; reboot or replace a node that lost a GPU.

## Source
https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.crowd import crowd
from gonogo.checks.devices import counted
from gonogo.facts.kube_nodes import ChosenNodes
from gonogo.kernel import Skip, check
from gonogo.model import Finding
from gonogo.plan import Plan


@check("GPU101")
def allocatable(nodes: ChosenNodes, plan: Plan) -> Iterator[Finding]:
    """Against the plan's number, else the type's: never the node's own, which a missing plugin makes 0."""
    yield from crowd(_each(nodes, plan))


def _each(nodes: ChosenNodes, plan: Plan) -> Iterator[Finding]:
    found = list(counted(nodes, plan, efa=False))
    if not found:
        raise Skip("No chosen node's type has accelerators, and none advertises any.")
    yield from found
