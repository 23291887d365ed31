"""The nodes have EFA, and nothing advertises it.

## What is wrong
Without the EFA device plugin no node offers `vpc.amazonaws.com/efa`, and pods that ask for it stay Pending.

## Fix
Install the plugin: `helm install efa eks/aws-efa-k8s-device-plugin -n kube-system`.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.nodes import count_of, listing_has, type_of
from gonogo.causes.proof import diagnosis
from gonogo.data.instances import instance_type
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.unschedulable import unschedulable
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair

EFA = "vpc.amazonaws.com/efa"


@cause("efa.device_plugin_missing", refines=("scheduling.insufficient_resources",), also=True)
def device_plugin_missing(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where pods wait for EFA, nodes of a type with EFA offer none, and no such DaemonSet is listed."""
    short = [u for u in unschedulable(events) if EFA in u.insufficient]
    bare = [n for n in objects.of("Node") if (t := instance_type(type_of(n))) and t.efa and count_of(n, EFA) == 0]
    listed = listing_has(objects, "DaemonSet", ("efa",))
    if not short or not bare or listed:
        return
    yield diagnosis(
        "efa.device_plugin_missing",
        f"{len(bare)} nodes of a type with EFA offer no {EFA}, and no EFA device plugin is installed.",
        Events(tuple(u.event for u in short)),
        [bare[0].cite("status.allocatable"), bare[0].cite(("metadata", "labels", "node.kubernetes.io/instance-type"))],
        [d.cite("metadata.name") for d in (*objects.of("DaemonSet"), *objects.of("DaemonSetList"))][:3],
        repair=Repair.INSTALL_COMPONENT,
        subjects=[n.subject for n in bare],
        certainty=None if listed is False else Certainty.HYPOTHESIS,
        commands=("helm install efa eks/aws-efa-k8s-device-plugin -n kube-system",),
        next_observation="kubectl -n kube-system get daemonset | grep efa",
    )
