"""The cluster's nodes, and those among them that are to train."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gonogo.data.instances import InstanceType, instance_type
from gonogo.documents.kubernetes import NodeObjects, Object, Scope
from gonogo.facts.kube_quantity import ACCELERATORS, EFA, GPU, quantities
from gonogo.facts.kube_select import Taint, matches, parse_selector
from gonogo.kernel import PerNode, Skip, parser
from gonogo.model import Evidence, Subject, node
from gonogo.plan import Plan

TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
ZONE_LABELS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
AMI_LABELS = ("eks.amazonaws.com/nodegroup-image", "karpenter.k8s.aws/instance-ami-id")
DRIVER_LABELS = ("nvidia.com/cuda.driver-version.full", "nvidia.com/cuda.driver.major")
CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


@dataclass(frozen=True, slots=True)
class Condition:
    """One of a node's conditions, in the words of whoever set it."""

    status: str  # True, False, Unknown
    reason: str
    message: str
    since: str


@dataclass(frozen=True, slots=True)
class KubeNode:
    """A node as the API has it; amounts are numbers: cores, bytes, devices."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    cordoned: bool
    capacity: Mapping[str, float]
    allocatable: Mapping[str, float]
    conditions: Mapping[str, Condition]
    kubelet: str
    kernel: str
    runtime: str
    os_image: str
    architecture: str
    provider_id: str
    address: str
    file: str
    line: int

    @property
    def type_name(self) -> str:
        """The instance type that its label states, or ""."""
        return _first(self.labels, TYPE_LABELS)

    @property
    def type(self) -> InstanceType | None:
        """The catalog's row."""
        return instance_type(self.type_name)

    @property
    def zone(self) -> str:
        return _first(self.labels, ZONE_LABELS)

    @property
    def ami(self) -> str:
        return _first(self.labels, AMI_LABELS)

    @property
    def driver(self) -> str:
        return _first(self.labels, DRIVER_LABELS)

    @property
    def instance_id(self) -> str:
        """i-…, or "" where the provider isn't AWS."""
        last = self.provider_id.rpartition("/")[2]
        return last if last.startswith("i-") else ""

    @property
    def ready(self) -> bool:
        return "Ready" in self.conditions and self.conditions["Ready"].status == "True"

    @property
    def accelerators(self) -> float:
        """What is advertised, or what the type has where nothing is."""
        advertised = max((self.capacity.get(r, 0.0) for r in ACCELERATORS), default=0.0)
        return advertised or float(self.type.accelerators if self.type else 0)

    def evidence(self, text: str) -> Evidence:
        """This node's object as evidence."""
        return Evidence(text, self.file, self.line)


@dataclass(frozen=True, slots=True)
class ClusterNodes:
    """All nodes that could be seen."""

    nodes: tuple[KubeNode, ...]


class ChosenNodes(PerNode[KubeNode]):
    """The nodes that are to train, how they were chosen, and how many are asked for (0: all of them)."""

    def __init__(self, entries: Mapping[Subject, KubeNode], how: str = "", asked: int = 0) -> None:
        super().__init__(entries)
        self.how, self.asked = how, asked


@parser
def cluster_nodes(objects: NodeObjects) -> ClusterNodes:
    return ClusterNodes(tuple(_node(item) for item in objects))


@parser
def chosen_nodes(found: ClusterNodes, scope: Scope, plan: Plan) -> ChosenNodes:
    chosen, how = choose(found.nodes, scope, plan)
    return ChosenNodes({node(n.name): n for n in chosen}, how, scope.nodes or plan.nodes.count or 0)


def choose(nodes: Iterable[KubeNode], scope: Scope, plan: Plan) -> tuple[list[KubeNode], str]:
    """By selector, type, or because they have accelerators; and a sentence that says by which."""
    workers = [n for n in nodes if not any(label in n.labels for label in CONTROL_PLANE)]
    if scope.selector or plan.nodes.selector:
        expressions = parse_selector(scope.selector) + [
            {"key": k, "operator": "In", "values": [v]} for k, v in plan.nodes.selector.items()
        ]
        text = scope.selector or ",".join(f"{k}={v}" for k, v in plan.nodes.selector.items())
        return [n for n in nodes if matches(expressions, n.labels)], f"nodes with {text}"
    if plan.nodes.instance_type:
        kind = plan.nodes.instance_type
        return [n for n in workers if n.type_name == kind], f"nodes of type {kind}"
    if accelerated := [n for n in workers if n.accelerators]:
        types = Counter(n.type_name or "unknown type" for n in accelerated)
        said = ", ".join(f"{count} x {kind}" for kind, count in types.most_common())
        return accelerated, f"nodes with accelerators ({said}), since no plan says which"
    return workers, "all worker nodes, since none has accelerators and no plan says which"


def advertises(nodes: Iterable[KubeNode], resource: str) -> bool:
    """Whether any of the nodes has any of it."""
    return any(n.capacity.get(resource, 0.0) > 0 for n in nodes)


def expected(found: KubeNode, resource: str, plan: Plan) -> tuple[int, str]:
    """How many devices a node should have, and who says so; (0, "") where nobody knows."""
    own = found.type.resource if found.type else GPU
    said = plan.nodes.efa if resource == EFA else plan.nodes.gpus if resource == own else None
    if said is not None:
        return said, "plan"
    row = found.type
    if not row:
        return 0, ""
    count = row.efa if resource == EFA else row.accelerators if row.resource == resource else 0
    return count, f"instance type {row.type}"


def _first(labels: Mapping[str, str], names: Iterable[str]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")


def _node(item: Object) -> KubeNode:
    info = item.mapping("status", "nodeInfo")
    conditions = {
        str(c.get("type")): Condition(
            str(c.get("status", "Unknown")), str(c.get("reason", "")), str(c.get("message", "")),
            str(c.get("lastTransitionTime", "")),
        )
        for c in item.each("status", "conditions")
    }  # fmt: skip
    addresses = {str(a.get("type")): str(a.get("address", "")) for a in item.each("status", "addresses")}
    return KubeNode(
        name=item.name,
        labels={str(k): str(v) for k, v in item.labels.items()},
        taints=tuple(
            Taint(str(t.get("key", "")), str(t.get("value") or ""), str(t.get("effect", "")))
            for t in item.each("spec", "taints")
        ),
        cordoned=bool(item.at("spec", "unschedulable", default=False)),
        capacity=quantities(item.mapping("status", "capacity")),
        allocatable=quantities(item.mapping("status", "allocatable")),
        conditions=conditions,
        kubelet=str(info.get("kubeletVersion", "")),
        kernel=str(info.get("kernelVersion", "")),
        runtime=str(info.get("containerRuntimeVersion", "")),
        os_image=str(info.get("osImage", "")),
        architecture=str(info.get("architecture", "")),
        provider_id=str(item.at("spec", "providerID", default="")),
        address=addresses.get("InternalIP", ""),
        file=item.file,
        line=item.line,
    )


def some(nodes: ChosenNodes) -> dict[Subject, KubeNode]:
    """The chosen nodes; a check of none of them does not apply, since SCH101 fails on that."""
    if not len(nodes):
        raise Skip("No node is chosen (SCH101).")
    return nodes.present
