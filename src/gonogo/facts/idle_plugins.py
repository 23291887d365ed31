"""Device plugins on nodes that have no devices: that they find none is as it should be."""

from __future__ import annotations

import re

from gonogo.data.instances import instance_type
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects

_GPU = "nvidia.com/gpu"
_TYPE = ("metadata", "labels", "node.kubernetes.io/instance-type")
_OF_PLUGIN = re.compile(r"Incompatible (?:strategy|platform) detected|No valid resources detected|NVML library")


def of_idle_plugins(events: Events, objects: Objects) -> Events:
    """Lines of plugins that found no GPU, where every node of a type with GPUs offers them all: they are on others."""
    nodes = [n for n in objects.of("Node") if n.get(_TYPE) and n.dict("status.allocatable")]
    with_gpus = [n for n in nodes if _of_type(n)]
    if not with_gpus or len(with_gpus) == len(nodes) or any(_offered(n) < _of_type(n) for n in with_gpus):
        return Events()
    return Events(tuple(e for e in events.of("gpu.driver_absent") if _OF_PLUGIN.search(e.text)))


def _of_type(node: Object) -> int:
    known = instance_type(str(node.get(_TYPE)))
    return known.accelerators if known and known.resource == _GPU else 0


def _offered(node: Object) -> int:
    told = str(node.get(("status", "allocatable", _GPU), "0"))
    return int(told) if told.isdigit() else 0
