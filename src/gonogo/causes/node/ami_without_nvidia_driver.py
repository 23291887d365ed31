"""A plain AMI on a GPU instance.

## What is wrong
The node group's AMI type has no NVIDIA driver, so the device plugin finds no NVML and the node offers no GPUs.

## Fix
amiType AL2023_x86_64_NVIDIA (or BOTTLEROCKET_x86_64_NVIDIA), in a new node group.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.nodes import count_of, gpu_nodes
from gonogo.causes.proof import diagnosis
from gonogo.data.instances import instance_type
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.unschedulable import unschedulable
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_PLAIN = re.compile(r"^(?:AL2_x86_64|AL2_ARM_64|AL2023_(?:x86_64|ARM_64)_STANDARD|BOTTLEROCKET_(?:x86_64|ARM_64))$")


_BOTTLEROCKET = re.compile(r"Bottlerocket OS .*\(aws-k8s-[\d.]+\)")
"""Variants with the driver end in -nvidia."""


@cause(
    "node.ami_without_nvidia_driver",
    refines=("gpu.driver_not_loaded", "gpu.device_plugin_missing", "runtime.toolkit_misconfigured"),
    also=True,
)
def ami_without_nvidia_driver(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a node group of a GPU type has an AMI type without a driver, beside a plugin that finds none."""
    blind = events.of("gpu.driver_absent")
    bare = [n for n in gpu_nodes(objects) if count_of(n, "nvidia.com/gpu") == 0]
    short = Events(tuple(u.event for u in unschedulable(events) if "nvidia.com/gpu" in u.insufficient))
    offers = any(count_of(n, "nvidia.com/gpu") for n in objects.of("Node"))
    for group in (*objects.of("nodegroup"), *objects.of("nodegroups")):
        types = [str(t) for t in group.items("instanceTypes")]
        on_gpus = any((t := instance_type(name)) and t.resource == "nvidia.com/gpu" for name in types)
        if on_gpus and _PLAIN.match(str(group.get("amiType", ""))) and (blind or bare or (short and not offers)):
            yield diagnosis(
                "node.ami_without_nvidia_driver",
                f"Node group {group.get('nodegroupName', '')} runs {types[0]} on {group.get('amiType')}, an AMI "
                f"without "
                "the NVIDIA driver.",
                Events(tuple(sorted(blind, key=lambda e: "NVML" not in e.text))),
                [group.cite("amiType")],
                short,
                [n.cite(("metadata", "labels", "node.kubernetes.io/instance-type")) for n in bare],
                repair=Repair.CHANGE_CLUSTER,
                subjects=[n.subject for n in bare],
                commands=(
                    f"aws eks create-nodegroup --cluster-name {group.get('clusterName', '<cluster>')} --ami-type "
                    f"AL2023_x86_64_NVIDIA --instance-types {types[0]} --nodegroup-name <name> --node-role "
                    "<node-role-arn> "
                    "--subnets <subnet>",
                ),
            )
            return
    plain = [n for n in objects.of("Node") if _BOTTLEROCKET.search(str(n.get("status.nodeInfo.osImage", "")))]
    if plain and blind:
        yield diagnosis(
            "node.ami_without_nvidia_driver",
            f"{plain[0].name} runs {plain[0].get('status.nodeInfo.osImage')}, a variant without the NVIDIA driver.",
            blind,
            [n.cite("status.nodeInfo.osImage") for n in plain],
            repair=Repair.CHANGE_CLUSTER,
            subjects=[n.subject for n in plain],
            commands=("aws eks describe-nodegroup --cluster-name <cluster> --nodegroup-name <name>",),
        )
