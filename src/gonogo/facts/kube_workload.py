"""The pod that each chosen node is to run: from the plan, from the user's own job, and from what the nodes have."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gonogo.documents.kubernetes import Scope
from gonogo.facts.kube_nodes import ChosenNodes, KubeNode, advertises, expected
from gonogo.facts.kube_pods import requests_of
from gonogo.facts.kube_quantity import ACCELERATORS, EFA, GPU, HUGEPAGES
from gonogo.kernel import parser
from gonogo.plan import Plan

IMAGE = "public.ecr.aws/deep-learning-containers/pytorch:2.13.0-cu133-amzn2023"
"""Where nobody names one: the current training image that anybody may pull."""

ACCELERATOR_TAINTS = (*ACCELERATORS, EFA)
KEPT = (
    "volumes", "tolerations", "nodeSelector", "affinity", "priorityClassName", "schedulerName", "serviceAccountName",
    "imagePullSecrets", "runtimeClassName", "securityContext", "hostNetwork", "hostIPC", "dnsPolicy", "dnsConfig",
    "resourceClaims", "overhead", "automountServiceAccountToken",
)  # fmt: skip
"""What of the user's pod decides where it runs and what it gets there."""
KEPT_CONTAINER = ("image", "imagePullPolicy", "env", "envFrom", "resources", "volumeMounts", "securityContext")


@dataclass(frozen=True, slots=True)
class Workload:
    """One pod a node: `spec` is a pod's spec with one container, without gonogo's own command, files and settings."""

    namespace: str
    count: int
    spec: Mapping[str, Any]
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    added_labels: Mapping[str, str] = field(default_factory=dict)  # by the controller of the user's own job
    template: Mapping[str, Any] = field(default_factory=dict)  # the pod spec of the user's own job, whole

    @property
    def container(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.spec["containers"][0]
        return found

    @property
    def image(self) -> str:
        return str(self.container.get("image", ""))

    @property
    def job_labels(self) -> dict[str, str]:
        """What the pods of the user's own job have: by these its Services select them."""
        return {**self.labels, **self.added_labels}

    @property
    def is_probed(self) -> bool:
        """Whether those pods become ready, and so get names, by a probe: later than they start."""
        containers = [*(self.template.get("containers") or []), *(self.template.get("initContainers") or [])]
        return any(c.get(probe) for c in containers for probe in ("readinessProbe", "startupProbe"))

    @property
    def requests(self) -> dict[str, float]:
        """What one pod reserves."""
        return requests_of(self.spec)

    @property
    def tolerations(self) -> list[Mapping[str, Any]]:
        return list(self.spec.get("tolerations") or [])

    @property
    def claims(self) -> tuple[str, ...]:
        """The PersistentVolumeClaims that it mounts."""
        volumes = self.spec.get("volumes") or []
        named = [(v.get("persistentVolumeClaim") or {}).get("claimName") for v in volumes]
        return tuple(str(n) for n in named if n)

    @property
    def mounts(self) -> tuple[str, ...]:
        """Where those are mounted."""
        volumes = self.spec.get("volumes") or []
        claimed = {v.get("name") for v in volumes if v.get("persistentVolumeClaim")}
        found = [m.get("mountPath") for m in self.container.get("volumeMounts") or [] if m.get("name") in claimed]
        return tuple(dict.fromkeys(str(path) for path in found if path))


@parser
def workload(plan: Plan, scope: Scope, nodes: ChosenNodes) -> Workload:
    return design(plan, scope, list(nodes.present.values()), nodes.asked)


def design(plan: Plan, scope: Scope, nodes: list[KubeNode], asked: int = 0) -> Workload:
    """The pod, what was assumed for want of a word from the user, and how many of it."""
    assumed: list[str] = []
    template = copy.deepcopy(dict(scope.template or {}))
    theirs = template.get("spec") or {}
    spec: dict[str, Any] = {key: theirs[key] for key in KEPT if key in theirs}
    own = _training_container(theirs)
    container: dict[str, Any] = {key: own[key] for key in KEPT_CONTAINER if key in own}
    _say_what_the_plan_says(plan, spec, container)
    if image := scope.image or plan.image:
        container["image"] = image
    if not container.get("image"):
        container["image"] = IMAGE
        assumed.append(f"image {IMAGE}")
    if not container.get("resources"):
        container["resources"] = _resources(plan, nodes)
    if scope.no_gpu:
        _without_accelerators(container)
    if not theirs and "tolerations" not in spec:
        taints = {t.key for n in nodes for t in n.taints}
        spec["tolerations"] = [{"key": k, "operator": "Exists"} for k in ACCELERATOR_TAINTS if k in taints]
    if not theirs:
        _shared_memory(spec, container)
    spec["containers"] = [{"name": "agent", **container}]
    metadata = template.get("metadata") or {}
    count = asked or len(nodes)
    return Workload(
        scope.namespace, count, spec,
        labels={**(metadata.get("labels") or {}), **plan.pod.labels},
        annotations={**(metadata.get("annotations") or {}), **plan.pod.annotations},
        assumed=tuple(assumed),
        added_labels=scope.added_labels,
        template=theirs,
    )  # fmt: skip


def _training_container(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """The one that asks for accelerators, else the first."""
    containers: list[Mapping[str, Any]] = spec.get("containers") or [{}]

    def has_accelerators(container: Mapping[str, Any]) -> bool:
        return any(r in ((container.get("resources") or {}).get("limits") or {}) for r in ACCELERATORS)

    return next(filter(has_accelerators, containers), containers[0])


def _say_what_the_plan_says(plan: Plan, spec: dict[str, Any], container: dict[str, Any]) -> None:
    pod = plan.pod
    said = {
        "priorityClassName": pod.priority_class_name,
        "schedulerName": pod.scheduler_name,
        "serviceAccountName": pod.service_account_name,
    }
    spec.update({key: value for key, value in said.items() if value})
    if pod.tolerations:
        spec["tolerations"] = list(pod.tolerations)
    if pod.node_selector:
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **pod.node_selector}
    volumes, mounts = list(spec.get("volumes") or []), list(container.get("volumeMounts") or [])
    volumes += pod.volumes
    mounts += pod.volume_mounts
    for number, storage in enumerate(plan.storage):
        if storage.claim:
            name = f"storage-{number}"
            volumes.append({"name": name, "persistentVolumeClaim": {"claimName": storage.claim}})
            mounts.append({"name": name, "mountPath": storage.path})
    if volumes:
        spec["volumes"] = volumes
    if mounts:
        container["volumeMounts"] = mounts
    if pod.resources:
        container["resources"] = {kind: dict(amounts) for kind, amounts in pod.resources.items()}


def _resources(plan: Plan, nodes: list[KubeNode]) -> dict[str, dict[str, str]]:
    """Whole nodes: all accelerators and adapters that the type has, and memory for a small training."""
    limits: dict[str, str] = {}
    for resource in (*ACCELERATORS, EFA):
        counts = [expected(n, resource, plan)[0] or int(n.allocatable.get(resource, 0)) for n in nodes]
        asked_for = plan.nodes.efa if resource == EFA else plan.nodes.gpus if resource == GPU else None
        if any(counts) and (advertises(nodes, resource) or asked_for):
            limits[resource] = str(min(count for count in counts if count))
    if plan.fabric.kind == "tcp":
        limits.pop(EFA, None)
    if EFA in limits and all(n.allocatable.get(HUGEPAGES, 0.0) >= 5 * 2**30 for n in nodes):
        limits[HUGEPAGES] = "5Gi"
    requests = {"cpu": "1", "memory": "2Gi"}
    return {"limits": limits, "requests": requests} if limits else {"requests": requests}


def _without_accelerators(container: dict[str, Any]) -> None:
    resources = copy.deepcopy(container.get("resources") or {})
    for amounts in resources.values():
        for name in [n for n in amounts if n in (*ACCELERATORS, EFA) or n.startswith("hugepages-")]:
            del amounts[name]
    container["resources"] = {kind: amounts for kind, amounts in resources.items() if amounts}


def _shared_memory(spec: dict[str, Any], container: dict[str, Any]) -> None:
    """A container's own /dev/shm has 64 MB; training wants more."""
    mounts = container.setdefault("volumeMounts", [])
    if all(m.get("mountPath") != "/dev/shm" for m in mounts):
        spec.setdefault("volumes", []).append({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}})
        mounts.append({"name": "shm", "mountPath": "/dev/shm"})
