"""There are fewer nodes than the training needs.

## What is wrong
Some of the nodes that the plan counts on never joined, were scaled down, or carry another label.

## Fix
Scale the node group; if it doesn't grow, its events name capacity, quota or permission.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/update-managed-node-group.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, follows
from gonogo.documents.kubernetes import PodsDocument
from gonogo.facts.kube_nodes import ChosenNodes
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("scheduling.too_few_nodes", refines=("scheduling.insufficient_resources",))
def too_few_nodes(findings: Findings, nodes: ChosenNodes, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """Where some match, and fewer than are asked for."""
    roots = failed(findings, "SCH101")
    if roots and 0 < len(nodes) < nodes.asked:
        room = [f for f in failed(findings, "SCH103") if f.subject.kind == "cluster"]
        yield diagnose(
            "scheduling.too_few_nodes",
            [*roots, *room],
            f"{len(nodes)} of {nodes.asked} nodes are there ({nodes.how}).",
            repair=Repair.ADD_CAPACITY,
            commands=(
                "kubectl get nodes",
                "aws eks describe-nodegroup --cluster-name <cluster> --nodegroup-name <node-group>",
            ),
            follows=follows(findings, pods, "Unschedulable"),
        )
