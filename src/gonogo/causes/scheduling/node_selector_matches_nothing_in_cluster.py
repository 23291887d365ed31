"""The selector matches no node.

## What is wrong
The labels, type or affinity that choose the nodes are on none of them.

## Fix
Correct the selector after `kubectl get nodes --show-labels`, or scale up the node group that has the label.

## Source
https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed
from gonogo.facts.kube_nodes import ChosenNodes
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair, Status


@cause("scheduling.node_selector_matches_nothing")
def node_selector_matches_nothing(findings: Findings, nodes: ChosenNodes) -> Iterator[Diagnosis]:
    """Only where it matches none at all."""
    if (roots := failed(findings, "SCH101")) and not len(nodes):
        waiting = [f.key for f in findings if f.status is Status.UNKNOWN and "SCH101" in f.message]
        yield diagnose(
            "scheduling.node_selector_matches_nothing",
            roots,
            f"No node matches: {nodes.how}.",
            repair=Repair.CHANGE_JOB,
            commands=("kubectl get nodes --show-labels",),
            follows=waiting,
        )
