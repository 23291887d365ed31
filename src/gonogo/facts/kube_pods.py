"""Pods, the sets that run on every node, and what of the nodes is still free."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gonogo.documents.kubernetes import DaemonSetObjects, Object, PodObjects
from gonogo.facts.kube_nodes import KubeNode
from gonogo.facts.kube_quantity import added, highest, quantities
from gonogo.facts.kube_select import affinity_admits, untolerated
from gonogo.kernel import parser
from gonogo.model import Evidence

_NODE_PROBLEMS = ("not-ready", "unreachable", "memory-pressure", "disk-pressure", "pid-pressure", "unschedulable",
                  "network-unavailable")  # fmt: skip
DAEMON_TOLERATIONS = [{"key": f"node.kubernetes.io/{key}", "operator": "Exists"} for key in _NODE_PROBLEMS]
"""What the DaemonSet controller adds to its pods by itself."""


@dataclass(frozen=True, slots=True)
class KubePod:
    """A pod: where it is, what it reserves there, and how it is."""

    name: str
    namespace: str
    node: str
    phase: str
    ready: bool
    requests: Mapping[str, float]
    owner: str  # kind/name of its controller, or ""
    trouble: str  # why a container doesn't run, in the kubelet's words, or ""
    labels: Mapping[str, str] = field(default_factory=dict)
    file: str = ""
    line: int = 0

    @property
    def holds(self) -> bool:
        """Whether it keeps its node's resources from others."""
        return bool(self.node) and self.phase not in ("Succeeded", "Failed")

    def evidence(self, text: str) -> Evidence:
        return Evidence(text, self.file, self.line)


@dataclass(frozen=True, slots=True)
class Pods:
    """All pods that could be seen."""

    pods: tuple[KubePod, ...]
    everywhere: bool  # all namespaces; otherwise more may be reserved than is known
    by_node: Mapping[str, tuple[KubePod, ...]] = field(default_factory=dict, compare=False)

    def free(self, node: KubeNode) -> dict[str, float]:
        """What the scheduler has left to give on a node, by resource."""
        there = self.by_node.get(node.name, ())
        used = added([*(p.requests for p in there), {"pods": float(len(there))}])
        return {name: amount - used.get(name, 0.0) for name, amount in node.allocatable.items()}


@dataclass(frozen=True, slots=True)
class DaemonSet:
    """A set that should have a pod on every node that it allows."""

    name: str
    namespace: str
    desired: int
    ready: int
    images: tuple[str, ...]
    spec: Mapping[str, Any]  # of its pods
    file: str = ""
    line: int = 0

    def excludes(self, node: KubeNode) -> str:
        """Why this set wants no pod on a node, or ""."""
        if not affinity_admits(self.spec, node.labels, node.name):
            return f"its node selector or affinity does not admit {node.type_name or node.name}"
        kept_off = untolerated([*(self.spec.get("tolerations") or []), *DAEMON_TOLERATIONS], node.taints)
        return f"it does not tolerate {kept_off[0]}" if kept_off else ""

    def is_one_of(self, *words: str) -> bool:
        """By name or image."""
        return any(word in text for word in words for text in (self.name, *self.images))

    def evidence(self, text: str) -> Evidence:
        return Evidence(text, self.file, self.line)


@dataclass(frozen=True, slots=True)
class DaemonSets:
    """All DaemonSets that could be seen."""

    sets: tuple[DaemonSet, ...]

    def of(self, *words: str) -> tuple[DaemonSet, ...]:
        return tuple(s for s in self.sets if s.is_one_of(*words))


@parser
def pods(objects: PodObjects) -> Pods:
    found = tuple(_pod(item) for item in objects)
    by_node: dict[str, list[KubePod]] = {}
    for pod in found:
        if pod.holds:
            by_node.setdefault(pod.node, []).append(pod)
    return Pods(found, objects.everywhere, {name: tuple(there) for name, there in by_node.items()})


@parser
def daemon_sets(objects: DaemonSetObjects) -> DaemonSets:
    return DaemonSets(tuple(_daemon_set(item) for item in objects))


def requests_of(spec: Mapping[str, Any]) -> dict[str, float]:
    """What a pod reserves: its containers together, or more while it starts, and its overhead."""

    def of(container: Mapping[str, Any]) -> dict[str, float]:
        resources = container.get("resources") or {}
        return quantities({**(resources.get("limits") or {}), **(resources.get("requests") or {})})

    sidecars: list[dict[str, float]] = []
    starting: list[dict[str, float]] = []
    for container in spec.get("initContainers") or []:
        if container.get("restartPolicy") == "Always":
            sidecars.append(of(container))
        else:
            starting.append(added([*sidecars, of(container)]))
    running = added([*(of(c) for c in spec.get("containers") or []), *sidecars])
    return added([highest([running, *starting]), quantities(spec.get("overhead") or {})])


def trouble_of(statuses: Iterable[Mapping[str, Any]]) -> str:
    """Why the first container that doesn't run doesn't, in the kubelet's words."""
    for status in statuses:
        state = status.get("state") or {}
        waiting, ended = (
            state.get("waiting"),
            state.get("terminated") or (status.get("lastState") or {}).get("terminated"),
        )
        if waiting and waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            last = f" ({ended.get('reason')}, exit {ended.get('exitCode')})" if ended else ""
            return f"{waiting['reason']}{last}: {waiting.get('message', '')}".strip(": ")
        if state.get("terminated") and state["terminated"].get("exitCode"):
            done = state["terminated"]
            return f"{done.get('reason', 'Error')}, exit {done['exitCode']}"
    return ""


def _pod(item: Object) -> KubePod:
    owners = [o for o in item.each("metadata", "ownerReferences") if o.get("controller")]
    conditions = {c.get("type"): c.get("status") for c in item.each("status", "conditions")}
    statuses = [*item.each("status", "initContainerStatuses"), *item.each("status", "containerStatuses")]
    return KubePod(
        name=item.name,
        namespace=item.namespace,
        node=str(item.at("spec", "nodeName", default="")),
        phase=str(item.at("status", "phase", default="")),
        ready=conditions.get("Ready") == "True",
        requests=requests_of(item.mapping("spec")),
        owner=f"{owners[0].get('kind')}/{owners[0].get('name')}" if owners else "",
        trouble=trouble_of(statuses),
        labels=item.labels,
        file=item.file,
        line=item.line,
    )


def _daemon_set(item: Object) -> DaemonSet:
    spec = item.mapping("spec", "template", "spec")
    return DaemonSet(
        name=item.name,
        namespace=item.namespace,
        desired=int(item.at("status", "desiredNumberScheduled", default=0)),
        ready=int(item.at("status", "numberReady", default=0)),
        images=tuple(str(c.get("image", "")) for c in spec.get("containers") or []),
        spec=spec,
        file=item.file,
        line=item.line,
    )
