"""What watches the nodes' hardware reports no fault.

## Why it matters
The EKS node monitoring agent, HyperPod and the node problem detector see faults of GPUs, kernel, network and storage
before a training does. Their word is a node condition or a label; a scheduler passes it over.

## Usual causes
- a GPU fell off the bus, has uncorrectable memory errors or a broken NVLink
- a health check of the node is still running, or has failed

## Fix
Follow the reason that is reported; for hardware, reboot or replace the node.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/node-health.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.crowd import crowd
from gonogo.facts.kube_nodes import ChosenNodes, KubeNode, some
from gonogo.kernel import check
from gonogo.model import Finding, Status

KUBELET = frozenset({"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"})
MONITORED = ("KernelReady", "NetworkingReady", "StorageReady", "ContainerRuntimeReady", "AcceleratedHardwareReady")
HYPERPOD = "sagemaker.amazonaws.com/node-health-status"


@check("NOD103")
def health_agents(nodes: ChosenNodes) -> Iterator[Finding]:
    """Conditions named …Ready should be True, others, such as KernelDeadlock, False: their writers' convention."""
    yield from crowd(_each(nodes))


def _each(nodes: ChosenNodes) -> Iterator[Finding]:
    for subject, node in some(nodes).items():
        faults, watched = _faults(node)
        if faults:
            said = "; ".join(faults)
            yield Finding(Status.FAIL, subject, f"{node.name}: {said}.", evidence=(node.evidence(said),))
        elif watched:
            yield Finding(Status.OK, subject, f"{node.name}: {', '.join(watched)} report no fault.")
        else:
            text = (
                f"{node.name} has no condition by a node monitoring agent, so nothing says that its hardware is well."
            )
            yield Finding(Status.SKIP, subject, text)


def _faults(node: KubeNode) -> tuple[list[str], list[str]]:
    faults, watched = [], []
    for kind, condition in node.conditions.items():
        if kind in KUBELET:
            continue
        watched.append(kind)
        good = "True" if kind in MONITORED or kind.endswith("Ready") else "False"
        if condition.status not in (good, "Unknown"):
            faults.append(f"{kind} is {condition.status}: {condition.reason}: {condition.message}".rstrip(": ."))
    if status := node.labels.get(HYPERPOD):
        watched.append("HyperPod")
        if status != "Schedulable":
            why = node.labels.get("sagemaker.amazonaws.com/fault-types", "")
            faults.append(f"HyperPod calls it {status}" + (f" ({why})" if why else ""))
    return faults, watched
