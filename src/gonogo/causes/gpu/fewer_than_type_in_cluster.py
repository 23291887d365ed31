"""A node has fewer working GPUs than its type.

## What is wrong
The device plugin advertises fewer GPUs than the instance type has: one is broken, hidden, or marked unhealthy.

## Fix
Read the kernel log and the plugin's log on the node; reboot it, and replace it if the GPU stays away.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/node-health.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import failed, keeps_pods_out, names
from gonogo.documents.kubernetes import PodsDocument
from gonogo.facts.kube_nodes import ChosenNodes
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("gpu.fewer_than_type", refines=("scheduling.insufficient_resources",))
def fewer_than_type(findings: Findings, nodes: ChosenNodes, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """Some, but not all: none at all is a matter of the plugin."""
    roots = failed(findings, "GPU101", lambda f: 0 < float(f.measured or 0) < float(f.expected or 0))
    if not roots:
        return
    subjects = [f.subject for f in roots]
    ids = [n.instance_id for s in subjects if s in nodes.present and (n := nodes.present[s]).instance_id]
    yield keeps_pods_out(
        "gpu.fewer_than_type",
        roots,
        f"{names(subjects)}: {'; '.join(f.message.rstrip('.') for f in roots[:4])}.",
        findings,
        pods,
        repair=Repair.REPLACE_NODE,
        commands=(
            *(f"kubectl cordon {s.name}" for s in subjects[:4]),
            *(f"aws ec2 reboot-instances --instance-ids {i}" for i in ids[:4]),
        ),
        next_observation="nvidia-smi and dmesg on the node name the GPU that is missing",
    )
