"""Every chosen node offers as many EFA adapters as its instance type has.

## Why it matters
Pods get only the adapters that the EFA device plugin advertises. With fewer, or none, NCCL falls back to TCP without
an error, and the training runs at a fraction of its speed.

## Usual causes
- the plugin is missing, or its list of instance types doesn't have this one
- the node group was made without EFA interfaces
- the plugin counts other RDMA devices, too

## Fix
Install or upgrade the EFA device plugin; make the node group with EFA enabled.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.crowd import crowd
from gonogo.checks.devices import counted
from gonogo.facts.kube_nodes import ChosenNodes
from gonogo.kernel import Skip, check
from gonogo.model import Finding
from gonogo.plan import Plan


@check("EFA101")
def allocatable(nodes: ChosenNodes, plan: Plan) -> Iterator[Finding]:
    """Against the plan's number, else the type's."""
    yield from crowd(_each(nodes, plan))


def _each(nodes: ChosenNodes, plan: Plan) -> Iterator[Finding]:
    if plan.fabric.kind == "tcp":
        raise Skip("The plan's fabric is tcp.")
    found = list(counted(nodes, plan, efa=True))
    if not found:
        raise Skip("No chosen node's type has EFA, and none advertises any.")
    yield from found
