"""Every chosen node is ready and takes new pods.

## Why it matters
A gang of pods waits for its last member. One node that is not ready, or cordoned, and a training that needs all nodes
doesn't start, while it holds the others.

## Usual causes
- the kubelet, the container runtime or the instance itself is down
- the CNI plug-in isn't initialised
- somebody cordoned the node, or an auto repair did

## Fix
Look at the condition's message and the kubelet's log; uncordon with `kubectl uncordon`, or replace the node.

## Source
https://kubernetes.io/docs/reference/node/node-status/#condition
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.crowd import crowd
from gonogo.facts.kube_nodes import ChosenNodes, some
from gonogo.kernel import check
from gonogo.model import Finding, Status


@check("NOD101")
def ready(nodes: ChosenNodes) -> Iterator[Finding]:
    """Unknown, as the control plane says of a node that stopped answering, is not ready."""
    yield from crowd(_each(nodes))


def _each(nodes: ChosenNodes) -> Iterator[Finding]:
    for subject, node in some(nodes).items():
        condition = node.conditions.get("Ready")
        if node.ready and not node.cordoned:
            status, text = Status.OK, "is ready and takes new pods"
        elif node.ready:
            status, text = Status.FAIL, "is ready but cordoned: it takes no new pods"
        elif condition and condition.status == "Unknown":
            status, text = Status.FAIL, f"stopped answering at {condition.since}: {condition.message}"
        else:
            said = f"{condition.reason}: {condition.message}" if condition else "it has no condition Ready"
            status, text = Status.FAIL, f"is not ready: {said}"
        yield Finding(
            status, subject, f"{node.name} {text.rstrip('.')}.", evidence=(node.evidence(f"{node.name} {text}"),)
        )
