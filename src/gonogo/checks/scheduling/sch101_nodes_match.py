"""As many nodes match as are to train.

## Why it matters
A selector that matches nothing, or too few, leaves pods pending for ever, and the scheduler's word on it is one event.

## Usual causes
- a label is misspelt, or only on nodes that are scaled to zero
- the node group never reached its size: no capacity, quota, or a launch that fails

## Fix
`kubectl get nodes --show-labels`; correct the selector, or scale the node group.

## Source
https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.kube_nodes import ChosenNodes, ClusterNodes
from gonogo.kernel import check
from gonogo.model import CLUSTER, Finding, Status


@check("SCH101")
def nodes_match(nodes: ChosenNodes, cluster: ClusterNodes) -> Iterator[Finding]:
    """Without a number in plan or flags, one is enough, and how they were chosen is said."""
    found, asked = len(nodes), nodes.asked or 1
    status = Status.OK if found >= asked else Status.FAIL
    wanted = f"{nodes.asked} are asked for" if nodes.asked else "how many is not said"
    text = f"{found} of {len(cluster.nodes)} nodes match ({nodes.how}); {wanted}."
    source = "plan" if nodes.asked else "at least one"
    yield Finding(status, CLUSTER, text, found, asked, "nodes", source)
