"""A healthy cluster of two p4d nodes as the API would show it, for tests to break; and a run over it."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gonogo import registry
from gonogo.causes.arbitrate import arbitrate
from gonogo.documents import kubernetes as k
from gonogo.documents.kube_files import group
from gonogo.kernel import CheckDone, Diagnosed, Run
from gonogo.model import Diagnosis, Figure, Finding, Status
from gonogo.plan import Plan

Dict = dict[str, Any]
KUBERNETES_CHECKS = ("1",)  # the hundreds: GPU101, NOD104 …


def node(name: str, type: str = "p4d.24xlarge", zone: str = "us-west-2a", gpus: int = 8, efa: int = 4) -> Dict:
    amounts = {"cpu": "96", "memory": "1152Gi", "pods": "110", "nvidia.com/gpu": str(gpus), "hugepages-2Mi": "5128Mi",
               "vpc.amazonaws.com/efa": str(efa), "ephemeral-storage": "200Gi"}  # fmt: skip
    amounts = {name: amount for name, amount in amounts.items() if amount != "0"}
    kinds = ("MemoryPressure", "DiskPressure", "PIDPressure")
    conditions = [
        {"type": kind, "status": "False", "reason": "KubeletHasEnough", "message": "enough"} for kind in kinds
    ]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "node.kubernetes.io/instance-type": type,
                "topology.kubernetes.io/zone": zone,
                "eks.amazonaws.com/nodegroup-image": "ami-0aaa",
                "nvidia.com/cuda.driver-version.full": "580.159.03",
            },
        },
        "spec": {"providerID": f"aws:///{zone}/i-0{name.replace('-', '')}"},
        "status": {
            "capacity": dict(amounts),
            "allocatable": dict(amounts),
            "conditions": [*conditions, {**ready, "lastTransitionTime": "2026-11-30T10:00:00Z"}],
            "addresses": [{"type": "InternalIP", "address": f"10.0.1.{len(name)}"}],
            "nodeInfo": {"kubeletVersion": "v1.34.4-eks-1", "kernelVersion": "6.12.40", "osImage": "Amazon Linux 2023",
                         "containerRuntimeVersion": "containerd://2.1.4", "architecture": "amd64"},
        },
    }  # fmt: skip


def daemon_set(name: str, image: str, **spec: Any) -> Dict:
    tolerations = [{"operator": "Exists"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {
            "template": {"spec": {"containers": [{"name": "a", "image": image}], "tolerations": tolerations, **spec}}
        },
        "status": {"desiredNumberScheduled": 2, "numberReady": 2},
    }


def daemon_pod(owner: str, on: str) -> Dict:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{owner}-{on}",
            "namespace": "kube-system",
            "ownerReferences": [{"controller": True, "kind": "DaemonSet", "name": owner}],
        },
        "spec": {"nodeName": on, "containers": [{"name": "a", "image": "x"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(name: str, on: str, **limits: str) -> Dict:
    requests = {name.replace("_gpu", ""): amount for name, amount in limits.items()}
    resources = {"limits": {{"gpu": "nvidia.com/gpu"}.get(name, name): amount for name, amount in requests.items()}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "other"},
        "spec": {"nodeName": on, "containers": [{"name": "a", "image": "x", "resources": resources}]},
        "status": {"phase": "Running"},
    }


SETS = {
    "nvidia-device-plugin-daemonset": "nvcr.io/nvidia/k8s-device-plugin:v0.19.3",
    "aws-efa-k8s-device-plugin": "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20",
    "aws-node": "602401143452.dkr.ecr.us-west-2.amazonaws.com/amazon-k8s-cni:v1.21.1",
}


@dataclass
class World:
    """All objects by kind; change them, then `judge`."""

    objects: list[Dict] = field(default_factory=list)
    plan: Plan = field(default_factory=Plan)
    scope: k.Scope = field(default_factory=lambda: k.Scope(namespace="train"))
    given: dict[type, object] = field(default_factory=dict)

    def named(self, kind: str, name: str) -> Dict:
        return next(o for o in self.objects if o["kind"] == kind and o["metadata"]["name"] == name)

    def node(self, name: str = "node-1") -> Dict:
        return self.named("Node", name)

    def drop(self, kind: str, name: str = "") -> None:
        self.objects = [
            o for o in self.objects if o["kind"] != kind or (name and not o["metadata"]["name"].startswith(name))
        ]

    def add(self, *objects: Dict) -> None:
        self.objects += objects

    def facts(self) -> dict[type, object]:
        grouped: dict[type, object] = {kind: kind(()) for kind in k.KINDS.values()}
        grouped |= group(k.Object(o, f"kubernetes/{o['kind']}.json", n) for n, o in enumerate(self.objects, 2))
        answers: dict[type, object] = {
            k.Scope: self.scope,
            k.ServerDocument: k.ServerDocument("v1.34.4-eks-1"),
            k.AccessDocument: k.AccessDocument(
                (k.Review("list", "", "nodes", "", True, "anything about nodes", "read"),
                 k.Review("create", "batch", "jobs", "train", True, "any run of pods", "quick"))
            ),
            k.AdmissionDocument: k.AdmissionDocument(True, 201),
            k.PodsDocument: k.PodsDocument(
                tuple(k.PodStart(f"gonogo-x-{i}-abcde", i, f"node-{i}", "running", seconds=2.0) for i in (0, 1))
            ),
            k.EndsDocument: k.EndsDocument(
                tuple(k.PodStart(f"gonogo-x-{i}-abcde", i, f"node-{i}", "ended", exit_code=0) for i in (0, 1))
            ),
            k.CleanupDocument: k.CleanupDocument(("job/gonogo-x", "service/gonogo-x", "configmap/gonogo-x"), (), 2.0),
        }  # fmt: skip
        return {Plan: self.plan, **grouped, **answers, **self.given}

    def judge(self, *only: str) -> tuple[list[Finding], tuple[Diagnosis, ...]]:
        """All Kubernetes checks, or some, through a run; and what causes say, arbitrated."""
        known = registry.load()
        checks = [c for id, c in known.checks.items() if (id in only if only else id in kubernetes_checks())]
        findings: list[Finding] = []
        diagnoses: tuple[Diagnosis, ...] = ()
        for event in Run(known, checks, self.facts()):
            match event:
                case CheckDone():
                    findings += event.findings
                case Diagnosed():
                    diagnoses = event.diagnoses
        assert not any(f.traceback for f in findings), [f.traceback for f in findings if f.traceback]
        return findings, arbitrate(diagnoses, findings, known.every_cause)


def kubernetes_checks() -> set[str]:
    """The checks of this plane: those numbered from 101 on."""
    return {id for id in registry.load().checks if id[3] == "1"}


def healthy() -> World:
    nodes = [node("node-0"), node("node-1")]
    sets = [daemon_set(name, image) for name, image in SETS.items()]
    running = [daemon_pod(name, n["metadata"]["name"]) for name in SETS for n in nodes]
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {}}}
        for name in ("train", "kube-system")
    ]
    dns = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kube-dns-x",
            "namespace": "kube-system",
            "labels": {"kubernetes.io/service-name": "kube-dns"},
        },
        "endpoints": [{"addresses": [f"10.0.9.{i}"], "conditions": {"ready": True}} for i in (1, 2)],
    }
    return World(copy.deepcopy([*nodes, *sets, *running, *namespaces, dns]))


def worst(findings: Iterable[Finding | Figure], check: str) -> Status:
    return max((f.status for f in findings if isinstance(f, Finding) and f.check == check), key=lambda s: s.severity)
