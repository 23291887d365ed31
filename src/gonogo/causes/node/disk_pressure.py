"""The node evicts pods because its disk is full.

## What is wrong
Images, logs, emptyDir volumes and checkpoints share the node's root volume. Below the threshold the kubelet evicts
pods.

## Fix
A larger root volume (or the instance store), limits of ephemeral-storage, checkpoints on shared storage.

## Source
https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("node.disk_pressure", refines=("storage.full",), also=True)
def disk_pressure(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the kubelet's word: of pods that it evicts, or of a pressure that was not over since."""
    evicted, pressed = events.of("k8s.evicted_disk"), events.of("node.disk_pressure")
    told = [
        (n, i, str(c.get("status")))
        for n in objects.of("Node")
        for i, c in enumerate(n.items("status.conditions"))
        if c.get("type") == "DiskPressure"
    ]
    nodes = [(n, i) for n, i, status in told if status == "True"]
    if evicted or (pressed and (nodes or not told)):
        yield diagnosis(
            "node.disk_pressure",
            f"The node's disk is full, and the kubelet {'evicts pods' if evicted else 'takes no more pods'}.",
            evicted,
            pressed,
            [n.cite(("status", "conditions", i, "type")) for n, i in nodes],
            [p.cite("status.message") for p in objects.of("Pod") if "low on resource" in str(p.get("status.message"))],
            repair=Repair.CHANGE_CLUSTER,
            subjects=[n.subject for n, _ in nodes],
            commands=("df -h / /var/lib/containerd; du -xsh /var/lib/kubelet/pods/* | sort -h | tail  # on the node",),
        )
