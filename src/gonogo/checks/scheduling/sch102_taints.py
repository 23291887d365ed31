"""The pods tolerate the taints of the chosen nodes.

## Why it matters
GPU nodes are tainted to keep other pods away. A training without the toleration is kept away as well and stays
pending; the event reads "node(s) had untolerated taint".

## Usual causes
- the manifest comes from a cluster without taints
- the taint's value or effect differs from the toleration's

## Fix
Add the toleration to the pod template, or remove the taint with `kubectl taint nodes NODE KEY-`.

## Source
https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.crowd import crowd
from gonogo.facts.kube_nodes import ChosenNodes, some
from gonogo.facts.kube_pods import DAEMON_TOLERATIONS
from gonogo.facts.kube_select import untolerated
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import check
from gonogo.model import Finding, Status


@check("SCH102")
def taints(nodes: ChosenNodes, workload: Workload) -> Iterator[Finding]:
    """Taints that Kubernetes sets for a node's troubles are those checks' matter."""
    yield from crowd(_each(nodes, workload))


def _each(nodes: ChosenNodes, workload: Workload) -> Iterator[Finding]:
    for subject, node in some(nodes).items():
        kept_off = untolerated([*workload.tolerations, *DAEMON_TOLERATIONS], node.taints)
        if kept_off:
            text = f"The pods do not tolerate {len(kept_off)} of {node.name}'s taints: {', '.join(map(str, kept_off))}."
            evidence = (node.evidence(f"{node.name}: taints {', '.join(map(str, node.taints))}"),)
            yield Finding(Status.FAIL, subject, text, len(kept_off), 0, "taints", evidence=evidence)
        else:
            text = f"The pods tolerate {len(node.taints)} of {len(node.taints)} taints of {node.name}."
            yield Finding(Status.OK, subject, text, 0, 0, "taints")
