"""The whole gang fits on the chosen nodes now.

## Why it matters
A training needs all of its pods at once. Where one less fits, the others start, hold their GPUs and wait for it.

## Usual causes
- another job, or the pod of a dead one, still holds GPUs
- the request is larger than what a node can allocate, after what system pods reserve

## Fix
`kubectl get pods -A --field-selector spec.nodeName=NODE` shows who holds them; use a queue such as Kueue for gangs.

## Source
https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gonogo.facts.kube_nodes import ChosenNodes, KubeNode, some
from gonogo.facts.kube_pods import Pods
from gonogo.facts.kube_quantity import shown
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import check
from gonogo.model import CLUSTER, Evidence, Finding, Status

NAMED = 64  # nodes that are short are named one by one up to so many


@check("SCH103")
def capacity(nodes: ChosenNodes, pods: Pods, workload: Workload) -> Iterator[Finding]:
    """One pod a node; a node that is short is named only if the gang needs it."""
    chosen = some(nodes)
    short = {s: lack for s, node in chosen.items() if (lack := _lacks(pods.free(node), workload.requests))}
    fit, need = len(chosen) - len(short), workload.count
    status = Status.OK if fit >= need else Status.FAIL
    if status is Status.OK and not pods.everywhere:
        status = Status.UNKNOWN  # pods of other namespaces may hold what looks free
    what = ", ".join(f"{name} {shown(name, amount)}" for name, amount in sorted(workload.requests.items()))
    text = f"{fit} of {len(chosen)} nodes have room for one pod each ({what}); {need} are needed."
    yield Finding(status, CLUSTER, text, fit, need, "nodes", "pod's requests")
    if fit < need:
        for subject, lack in list(short.items())[:NAMED]:
            node = chosen[subject]
            said = "; ".join(f"{name}: {shown(name, free)} free of {shown(name, node.allocatable.get(name, 0.0))}, "
                             f"{shown(name, need)} needed" for name, (free, need) in lack.items())  # fmt: skip
            evidence = (node.evidence(f"{node.name}: {said}"), *_holders(pods, node, lack))
            yield Finding(Status.FAIL, subject, f"{node.name} has no room for a pod: {said}.", evidence=evidence)


def _lacks(free: Mapping[str, float], needed: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    wanted = {**needed, "pods": 1.0}
    return {n: (free.get(n, 0.0), amount) for n, amount in wanted.items() if free.get(n, 0.0) < amount - 1e-9}


def _holders(pods: Pods, node: KubeNode, lack: Mapping[str, object]) -> Iterator[Evidence]:
    for pod in pods.by_node.get(node.name, ()):
        if held := [f"{n} {shown(n, pod.requests[n])}" for n in lack if pod.requests.get(n)]:
            yield pod.evidence(f"{pod.namespace}/{pod.name} holds {', '.join(held)}")
