"""The EFA device plugin advertises another number of devices than the type has.

## What is wrong
Old releases of the plugin take every RDMA device for an EFA device. Some pods are then given one that is none, and
their ranks hang.

## Fix
Upgrade the plugin (0.5.10 or later for p6-b200) and restart the pods.

## Source
https://github.com/aws/sagemaker-hyperpod-cli/pull/282
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.nodes import count_of, type_of
from gonogo.causes.proof import diagnosis
from gonogo.data.instances import instance_type
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.unschedulable import unschedulable
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

EFA = "vpc.amazonaws.com/efa"


@cause("efa.device_plugin_miscounts_devices", refines=("scheduling.insufficient_resources",), also=True)
def device_plugin_miscounts_devices(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a node offers more EFA devices than its type has, by EC2's word or the catalog's."""
    by_api = {str(t.get("InstanceType")): t for t in objects.of("InstanceTypes")}
    short = [u.event for u in unschedulable(events) if EFA in u.insufficient]
    for n in objects.of("Node"):
        offered = count_of(n, EFA) or 0
        name = type_of(n)
        told = by_api.get(name)
        known = instance_type(name)
        has = told.get("NetworkInfo.EfaInfo.MaximumEfaInterfaces") if told else (known.efa if known else None)
        if has is None or offered == int(has) or (offered < int(has) and not (offered and short)):
            continue
        image = events.of("efa.plugin_image")
        yield diagnosis(
            "efa.device_plugin_miscounts_devices",
            f"{n.name} offers {offered} EFA devices, and {name} has {has}.",
            [n.cite(("status", "allocatable", EFA))],
            [told.cite("NetworkInfo.EfaInfo.MaximumEfaInterfaces")] if told else (),
            image,
            Events(tuple(short)),
            waiting(events),
            repair=Repair.INSTALL_COMPONENT,
            subjects=[n.subject],
            commands=("helm upgrade efa eks/aws-efa-k8s-device-plugin -n kube-system",),
            next_observation="ls /sys/class/infiniband on the node: names that begin with rdmap are EFA's.",
        )
