"""Nodes of a cluster as objects: their types, and what they offer."""

from __future__ import annotations

from collections.abc import Iterable

from gonogo.data.instances import instance_type
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects

GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"
TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")


def type_of(node: Object) -> str:
    """The instance type of a node, "" if no label tells."""
    return next((str(t) for label in TYPE_LABELS if (t := node.get(("metadata", "labels", label)))), "")


def count_of(node: Object, resource: str) -> int | None:
    """How many of a resource a node offers; None where the object says nothing of its resources."""
    for part in ("allocatable", "capacity"):
        if node.dict(("status", part)):
            value = str(node.get(("status", part, resource), "0"))
            return int(value) if value.isdigit() else 0
    return None


def gpu_nodes(objects: Objects) -> tuple[Object, ...]:
    """Nodes whose type has GPUs, or which offer some."""
    return accelerated(objects, GPU)


def accelerated(objects: Objects, resource: str) -> tuple[Object, ...]:
    """Nodes whose type has accelerators of a resource's vendor, or which offer some."""
    vendor = resource.partition("/")[0]
    return tuple(
        n
        for n in objects.of("Node")
        if count_of(n, resource) or ((t := instance_type(type_of(n))) and t.resource.partition("/")[0] == vendor)
    )


def daemonsets(objects: Objects, *words: str) -> tuple[Object, ...]:
    """DaemonSets whose name has one of the words."""
    return tuple(d for d in objects.of("DaemonSet") if any(w in d.name for w in words))


def listing_has(objects: Objects, kind: str, words: Iterable[str]) -> bool | None:
    """Whether a listing of a kind names one; None where there is no listing to tell."""
    found = objects.of(kind)
    if not found and not objects.has(kind):
        return None
    return any(w in o.name for o in found for w in words)


def named_types_with_efa(events: Events) -> Events:
    """Lines that name an instance type which has EFA, be it in a manifest's selector."""
    told = events.of("host.instance_type")
    return Events(tuple(e for e in told if (t := instance_type(e.get("type"))) and t.efa))
