"""The EFA device plugin is ready on every chosen node that has EFA.

## Why it matters
It alone turns adapters into something that pods can ask for. Its DaemonSet carries a list of instance types: on a type
that is not in it, it wants 0 pods, and everything looks healthy.

## Usual causes
- the chart is older than the instance type
- taints that it doesn't tolerate
- the plugin was never installed

## Fix
`helm upgrade --install` the chart aws-efa-k8s-device-plugin in a version that lists the type.

## Source
https://github.com/aws/eks-charts/tree/master/stable/aws-efa-k8s-device-plugin
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


@check("EFA102")
def device_plugin(nodes: ChosenNodes, sets: DaemonSets, pods: Pods, plan: Plan) -> Iterator[Finding]:
    """A node that advertises its adapters by other means is well."""
    yield from crowd(_each(nodes, sets, pods, plan))


def _each(nodes: ChosenNodes, sets: DaemonSets, pods: Pods, plan: Plan) -> Iterator[Finding]:
    if plan.fabric.kind == "tcp":
        raise Skip("The plan's fabric is tcp.")
    found = list(served(nodes, sets, pods, plan, efa=True))
    if not found:
        raise Skip("No chosen node's type has EFA.")
    yield from found
