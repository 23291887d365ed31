"""The EFA device plugin's allowlist of instance types leaves this type out.

## What is wrong
The DaemonSet's node affinity is a fixed list of types. On a newer type it never runs (DESIRED 0), nothing reports an
error, and the resource is never registered.

## Fix
Upgrade the chart, or add the type to its list of supported instance types.

## Source
https://github.com/aws/eks-charts/pull/1348
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.nodes import count_of, daemonsets, type_of
from gonogo.causes.proof import diagnosis
from gonogo.data.instances import instance_type
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects, Path
from gonogo.facts.unschedulable import unschedulable
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

EFA = "vpc.amazonaws.com/efa"


@cause(
    "efa.device_plugin_affinity_excludes_instance_type",
    refines=("efa.device_plugin_missing", "scheduling.insufficient_resources"),
    also=True,
)
def device_plugin_affinity_excludes_instance_type(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a plugin's affinity lists types and a node's is not among them."""
    for plugin in daemonsets(objects, "efa"):
        place = _type_list(plugin)
        if not place:
            continue
        allowed = plugin.items(place)
        left_out = [n for n in objects.of("Node") if type_of(n) and type_of(n) not in allowed and not count_of(n, EFA)]
        left_out = [n for n in left_out if not (t := instance_type(type_of(n))) or t.efa]
        if left_out:
            name = type_of(left_out[0])
            yield diagnosis(
                "efa.device_plugin_affinity_excludes_instance_type",
                f"DaemonSet {plugin.name} runs only on {len(allowed)} listed instance types, and {name} is not one.",
                [plugin.cite("status.desiredNumberScheduled"), plugin.cite(place)],
                [left_out[0].cite(("metadata", "labels", "node.kubernetes.io/instance-type"))],
                Events(tuple(u.event for u in unschedulable(events) if EFA in u.insufficient)),
                repair=Repair.INSTALL_COMPONENT,
                subjects=[n.subject for n in left_out],
                commands=("helm upgrade efa eks/aws-efa-k8s-device-plugin -n kube-system",),
            )


def _type_list(plugin: Object) -> Path:
    base: Path = (
        "spec", "template", "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    )  # fmt: skip
    for t, term in enumerate(plugin.items(base)):
        for e, expression in enumerate(term.get("matchExpressions") or []):
            if "instance-type" in str(expression.get("key")) and expression.get("operator") == "In":
                return (*base, t, "matchExpressions", e, "values")
    return ()
