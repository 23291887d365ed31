"""The network plug-in's agent is ready on every chosen node.

## Why it matters
It gives pods their addresses. Where it is down, pods that run go on and new ones stay in ContainerCreating, so that
the next training loses a rank.

## Usual causes
- the node's role lacks the CNI policy, so that the agent can't attach interfaces
- the subnet has no free addresses
- a version of the add-on that doesn't fit the cluster's

## Fix
`kubectl -n kube-system logs` of the agent's pod on that node; for the Amazon VPC CNI also /var/log/aws-routed-eni/.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/managing-vpc-cni.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.crowd import crowd
from gonogo.facts.kube_nodes import ChosenNodes, some
from gonogo.facts.kube_pods import DaemonSets, Pods
from gonogo.kernel import Skip, check
from gonogo.model import Finding, Status

AGENTS = ("aws-node", "cilium", "calico-node", "kube-flannel", "kindnet", "antrea-agent", "weave-net")


@check("CNI101")
def node_agent(nodes: ChosenNodes, sets: DaemonSets, pods: Pods) -> Iterator[Finding]:
    """Plug-ins that run as no DaemonSet can't be judged from here."""
    yield from crowd(_each(nodes, sets, pods))


def _each(nodes: ChosenNodes, sets: DaemonSets, pods: Pods) -> Iterator[Finding]:
    agents = [s for s in sets.sets if s.name in AGENTS]
    if not agents:
        raise Skip(f"None of the network plug-ins that are known ({', '.join(AGENTS)}) runs as a DaemonSet here.")
    owners = {f"DaemonSet/{a.name}" for a in agents}
    for subject, node in some(nodes).items():
        here = [p for p in pods.by_node.get(node.name, ()) if p.owner in owners]
        if here and all(p.ready for p in here):
            yield Finding(Status.OK, subject, f"{agents[0].name} is ready on {node.name}.")
        elif here:
            bad = next(p for p in here if not p.ready)
            why = bad.trouble or f"its phase is {bad.phase}"
            text = f"{agents[0].name} is not ready on {node.name}: {why.rstrip('.')}."
            yield Finding(Status.FAIL, subject, text, evidence=(bad.evidence(f"pod {bad.name}: {why}"),))
        elif pods.everywhere:
            why = agents[0].excludes(node) or "no pod of it is there"
            evidence = (agents[0].evidence(f"{agents[0].name}: {why}"),)
            text = f"{agents[0].name} does not run on {node.name}: {why}."
            yield Finding(Status.FAIL, subject, text, evidence=evidence)
        else:
            yield Finding(Status.UNKNOWN, subject, f"Whether {agents[0].name} runs on {node.name} can't be read.")
