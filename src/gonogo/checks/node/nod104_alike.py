"""The chosen nodes are alike: type, image, kernel, driver, kubelet, runtime.

## Why it matters
Ranks run in lock step, so the odd node sets the pace, and a library that works against one driver fails against
another. Such differences come with a node that was replaced later, and show up as a fault of one rank.

## Usual causes
- nodes of several node groups or launch template versions
- an AMI release between two scale-ups

## Fix
Bring the odd nodes to the release of the others: replace them, or roll the node group.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/update-managed-node-group.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from gonogo.facts.kube_nodes import ChosenNodes, KubeNode, some
from gonogo.kernel import check
from gonogo.model import CLUSTER, Finding, Status

PROPERTIES: dict[str, Callable[[KubeNode], str]] = {
    "instance type": lambda n: n.type_name,
    "architecture": lambda n: n.architecture,
    "image": lambda n: n.ami or n.os_image,
    "kernel": lambda n: n.kernel,
    "GPU driver": lambda n: n.driver,
    "kubelet": lambda n: n.kubelet,
    "container runtime": lambda n: n.runtime,
}
GRAVE = frozenset({"instance type", "architecture", "GPU driver"})


@check("NOD104")
def alike(nodes: ChosenNodes) -> Iterator[Finding]:
    """Fails on what ranks feel (type, architecture, driver), warns of the rest; names the odd ones."""
    chosen = some(nodes)
    if len(chosen) == 1:
        yield Finding(Status.SKIP, CLUSTER, "1 node has nothing to differ from.")
        return
    odd = False
    for name, value in PROPERTIES.items():
        counts = Counter(value(node) for node in chosen.values())
        if len(counts) == 1:
            continue
        odd = True
        usual, many = counts.most_common(1)[0]
        for subject, node in chosen.items():
            if (own := value(node)) != usual:
                status = Status.FAIL if name in GRAVE else Status.WARN
                most = f"{many} of {len(chosen)} nodes have {usual or 'unknown'}"
                text = f"{node.name} has {name} {own or 'unknown'}; {most}."
                yield Finding(
                    status, subject, text, own, usual, threshold_source="peers", evidence=(node.evidence(text),)
                )
    if not odd:
        text = f"{len(chosen)} of {len(chosen)} nodes are alike in {', '.join(PROPERTIES)}."
        yield Finding(Status.OK, CLUSTER, text)
