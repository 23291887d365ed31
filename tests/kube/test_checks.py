"""Each check of a cluster's objects is seen to pass on a healthy one and to speak up on a fault, with its cause."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kube_world import World, daemon_set, healthy, kubernetes_checks, node, pod, worst

from gonogo.documents import kubernetes as k
from gonogo.documents import replay
from gonogo.model import Status
from gonogo.plan import Plan

Break = Callable[[World], None]
BAD = (Status.FAIL, Status.UNKNOWN, Status.WARN)


def condition(kind: str, status: str, reason: str = "", message: str = "", on: str = "node-1") -> Break:
    def act(world: World) -> None:
        conditions = world.node(on)["status"]["conditions"]
        conditions[:] = [c for c in conditions if c["type"] != kind]
        conditions.append({"type": kind, "status": status, "reason": reason, "message": message,
                           "lastTransitionTime": "2026-11-30T11:00:00Z"})  # fmt: skip

    return act


def amount(resource: str, value: str | None, on: str = "node-1") -> Break:
    def act(world: World) -> None:
        for kind in ("capacity", "allocatable"):
            status = world.node(on)["status"][kind]
            status.pop(resource, None)
            if value is not None:
                status[resource] = value

    return act


def label(key: str, value: str, on: str = "node-1") -> Break:
    return lambda world: world.node(on)["metadata"]["labels"].update({key: value})


def info(key: str, value: str, on: str = "node-1") -> Break:
    return lambda world: world.node(on)["status"]["nodeInfo"].update({key: value})


def taint(key: str, on: str = "node-1") -> Break:
    return lambda world: world.node(on)["spec"].update({"taints": [{"key": key, "effect": "NoSchedule"}]})


def plan(**data: Any) -> Break:
    return lambda world: setattr(world, "plan", Plan.model_validate(data))


def scope(**fields: Any) -> Break:
    return lambda world: setattr(world, "scope", dataclasses.replace(world.scope, **fields))


def given(document: object) -> Break:
    return lambda world: world.given.update({type(document): document})


def add(kind: str, name: str, **content: Any) -> Break:
    metadata = {"name": name, "namespace": "train", **content.pop("metadata", {})}
    return lambda world: world.add({"apiVersion": "v1", "kind": kind, "metadata": metadata, **content})


def drop(kind: str, name: str = "") -> Break:
    return lambda world: world.drop(kind, name)


def all_of(*breaks: Break) -> Break:
    def act(world: World) -> None:
        for one in breaks:
            one(world)

    return act


def efa_allowlist(world: World) -> None:
    terms = [
        {"matchExpressions": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge"]}]}
    ]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    world.drop("DaemonSet", "aws-efa")
    world.drop("Pod", "aws-efa")
    world.add(daemon_set("aws-efa-k8s-device-plugin", "aws-efa-k8s-device-plugin:v0.4", affinity=affinity))
    for name in ("node-0", "node-1"):
        amount("vpc.amazonaws.com/efa", None, name)(world)


def plugin_pod_crashes(world: World) -> None:
    broken = next(o for o in world.objects if o["metadata"]["name"] == "nvidia-device-plugin-daemonset-node-1")
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}
    broken["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}],
                        "containerStatuses": [{"state": {"waiting": waiting}}]}  # fmt: skip


def cni_pod_gone(world: World) -> None:
    world.drop("Pod", "aws-node-node-1")


def cni(**settings: str) -> Break:
    """The environment of aws-node."""

    def act(world: World) -> None:
        container = world.named("DaemonSet", "aws-node")["spec"]["template"]["spec"]["containers"][0]
        container["env"] = [{"name": name, "value": value} for name, value in settings.items()]

    return act


BRANCH = {"vpc.amazonaws.com/pod-eni": "1"}
CLAIM = {"spec": {"storageClassName": "fsx", "accessModes": ["ReadWriteMany"]}, "status": {"phase": "Pending"}}
BOUND = {
    "spec": {"storageClassName": "fsx", "accessModes": ["ReadWriteMany"], "volumeName": "v"},
    "status": {"phase": "Bound"},
}
ONCE = {"spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "v"}, "status": {"phase": "Bound"}}
WITH_CLAIM = {"storage": [{"path": "/data", "claim": "data"}]}
FSX_CLASS = add("StorageClass", "fsx", provisioner="fsx.csi.aws.com")
FSX_DRIVER = add("CSIDriver", "fsx.csi.aws.com")
IN_ZONE_C = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-west-2c"]}
EBS_VOLUME = add(
    "PersistentVolume",
    "v",
    spec={
        "csi": {"driver": "ebs.csi.aws.com"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [IN_ZONE_C]}]}},
    },
)
LIKE_POD = {"metadata": {"labels": {"app": "train"}}, "spec": {"containers": [{"name": "a", "image": "a/b:1"}]}}
PROBE = {"exec": {"command": ["test", "-e", "/tmp/joined"]}}
PROBED = {
    "metadata": {"labels": {"app": "train"}},
    "spec": {"containers": [{"name": "a", "image": "a/b:1", "readinessProbe": PROBE}]},
}
HEADLESS = {"clusterIP": "None", "selector": {"app": "train"}}
UNREADY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
DENY_ALL = {"podSelector": {}, "policyTypes": ["Ingress"]}
MPI_CRD = {"spec": {"group": "kubeflow.org", "names": {"plural": "mpijobs", "kind": "MPIJob"},
                    "versions": [{"name": "v1", "served": True}]}}  # fmt: skip


def operator(name: str) -> Break:
    def act(world: World) -> None:
        world.add({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-x", "namespace": "kubeflow",
                   "ownerReferences": [{"controller": True, "kind": "ReplicaSet", "name": f"{name}-5d4"}]},
                   "spec": {"nodeName": "node-0", "containers": []}, "status": {"phase": "Running"}})  # fmt: skip

    return act


def stuck(reason: str, message: str, node_name: str = "node-1", state: str = "waiting") -> Break:
    pods = (k.PodStart("gonogo-x-0-abcde", 0, "node-0", "running", seconds=2.0),
            k.PodStart("gonogo-x-1-abcde", 1, node_name, state, reason, message))  # fmt: skip
    return given(k.PodsDocument(pods))


def ended(reason: str, message: str = "", code: int | None = 137, state: str = "ended") -> Break:
    pods = (k.PodStart("gonogo-x-0-abcde", 0, "node-0", "ended", exit_code=0),
            k.PodStart("gonogo-x-1-abcde", 1, "node-1", state, reason, message, exit_code=code))  # fmt: skip
    return given(k.EndsDocument(pods))


FAULTS: dict[str, tuple[str, Break, Status, str, str]] = {
    "node not ready": (
        "NOD101",
        condition("Ready", "False", "KubeletNotReady", "cni plugin not initialized"),
        Status.FAIL,
        "node-1 is not ready: KubeletNotReady: cni plugin not initialized.",
        "",
    ),
    "node gone": (
        "NOD101",
        condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."),
        Status.FAIL,
        "node-1 stopped answering at 2026-11-30T11:00:00Z",
        "node.kubelet_down",
    ),
    "cordoned": ("NOD101", lambda w: w.node()["spec"].update({"unschedulable": True}), Status.FAIL, "cordoned", ""),
    "disk pressure": (
        "NOD102",
        condition("DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure"),
        Status.FAIL,
        "DiskPressure: kubelet has disk pressure",
        "node.disk_pressure",
    ),
    "monitoring agent": (
        "NOD103",
        condition("AcceleratedHardwareReady", "False", "NvidiaXID79Error", "GPU fell off"),
        Status.FAIL,
        "NvidiaXID79Error",
        "",
    ),
    "problem detector": (
        "NOD103",
        condition("KernelDeadlock", "True", "DockerHung", "task hung"),
        Status.FAIL,
        "hung",
        "",
    ),
    "hyperpod": (
        "NOD103",
        label("sagemaker.amazonaws.com/node-health-status", "UnschedulablePendingReboot"),
        Status.FAIL,
        "UnschedulablePendingReboot",
        "",
    ),
    "other driver": (
        "NOD104",
        label("nvidia.com/cuda.driver-version.full", "570.1.2"),
        Status.FAIL,
        "node-1 has GPU driver 570.1.2; 1 of 2 nodes have 580.159.03.",
        "node.mixed_configuration",
    ),
    "other kernel": ("NOD104", info("kernelVersion", "6.1.9"), Status.WARN, "6.1.9", ""),
    "no huge pages": (
        "NOD105",
        all_of(amount("hugepages-2Mi", "0"), plan(pod={"resources": {"limits": {"hugepages-2Mi": "5Gi"}}})),
        Status.FAIL,
        "node-1 offers 0 MiB",
        "node.hugepages_not_registered",
    ),
    "seven GPUs": (
        "GPU101",
        amount("nvidia.com/gpu", "7"),
        Status.FAIL,
        "7 of 8 GPUs of node-1 are allocatable.",
        "gpu.fewer_than_type",
    ),
    "plan wants more": ("GPU101", plan(nodes={"gpus": 16}), Status.FAIL, "8 of 16 GPUs", "gpu.fewer_than_type"),
    "no GPU plugin": (
        "GPU102",
        all_of(drop("DaemonSet", "nvidia"), drop("Pod", "nvidia"), amount("nvidia.com/gpu", None)),
        Status.FAIL,
        "No device plugin for GPUs is installed",
        "gpu.device_plugin_missing",
    ),
    "GPU plugin crashes": ("GPU102", plugin_pod_crashes, Status.FAIL, "CrashLoopBackOff", ""),
    "GPU plugin untolerating": (
        "GPU102",
        all_of(
            drop("DaemonSet", "nvidia"),
            drop("Pod", "nvidia-device-plugin-daemonset-node-1"),
            taint("gpu"),
            lambda w: w.add(daemon_set("nvidia-device-plugin", "k8s-device-plugin", tolerations=[])),
        ),
        Status.FAIL,
        "it does not tolerate gpu:NoSchedule (daemonset/nvidia-device-plugin)",
        "scheduling.missing_toleration",
    ),
    "no EFA": (
        "EFA101",
        all_of(amount("vpc.amazonaws.com/efa", None), drop("DaemonSet", "aws-efa"), drop("Pod", "aws-efa")),
        Status.FAIL,
        "0 of 4 EFA adapters of node-1 are allocatable.",
        "efa.device_plugin_missing",
    ),
    "EFA allowlist": (
        "EFA102",
        efa_allowlist,
        Status.FAIL,
        "does not admit p4d.24xlarge",
        "efa.device_plugin_affinity_excludes_instance_type",
    ),
    "EFA miscounted": (
        "EFA101",
        all_of(amount("vpc.amazonaws.com/efa", "6"), plan(fabric={"kind": "efa"})),
        Status.FAIL,
        "node-1 advertises 6 EFA adapters; its instance type p4d.24xlarge has 4.",
        "efa.device_plugin_miscounts_devices",
    ),
    "CNI's MTU is not the plan's": (
        "CNI102",
        all_of(cni(AWS_VPC_ENI_MTU="1500"), plan(fabric={"mtu": 9001})),
        Status.FAIL,
        "aws-node gives pods an MTU of 1500 bytes (AWS_VPC_ENI_MTU), 9001 expected.",
        "network.mtu_mismatch",
    ),
    "CNI's default MTU is not the plan's": (
        "CNI102",
        plan(fabric={"mtu": 1500}),
        Status.FAIL,
        "aws-node gives pods an MTU of 9001 bytes, 1500 expected.",
        "network.mtu_mismatch",
    ),
    "CNI's MTU is small": (
        "CNI102",
        cni(POD_MTU="1480", AWS_VPC_ENI_MTU="9001"),
        Status.WARN,
        "an MTU of 1480 bytes (POD_MTU), 9001 expected.",
        "",
    ),
    "pods with groups of their own": (
        "CNI103",
        all_of(cni(ENABLE_POD_ENI="true"), given(k.AdmissionDocument(True, 201, limits=BRANCH))),
        Status.WARN,
        "which alone decide who reaches them (mode strict).",
        "",
    ),
    "pods with groups beside the node's": (
        "CNI103",
        all_of(
            cni(ENABLE_POD_ENI="true", POD_SECURITY_GROUP_ENFORCING_MODE="standard"),
            given(k.AdmissionDocument(True, 201, limits=BRANCH)),
        ),
        Status.WARN,
        "which count as well as their nodes' (mode standard).",
        "",
    ),
    "no policy where one is needed": (
        "NET101",
        cni(NETWORK_POLICY_ENFORCING_MODE="strict"),
        Status.FAIL,
        "No network policy allows the pods any ingress, and aws-node drops what none allows.",
        "network.network_policy_blocks_ranks",
    ),
    "no CNI agent": ("CNI101", cni_pod_gone, Status.FAIL, "aws-node does not run on node-1", "cni.plugin_not_ready"),
    "selector": (
        "SCH101",
        scope(selector="team=nobody"),
        Status.FAIL,
        "0 of 2 nodes match (nodes with team=nobody)",
        "scheduling.node_selector_matches_nothing",
    ),
    "too few": ("SCH101", scope(nodes=4), Status.FAIL, "2 of 2 nodes match", "scheduling.too_few_nodes"),
    "taint": ("SCH102", taint("team"), Status.FAIL, "team:NoSchedule", "scheduling.missing_toleration"),
    "GPUs held": (
        "SCH103",
        lambda w: w.add(pod("old-job-0", "node-1", gpu="8")),
        Status.FAIL,
        "1 of 2 nodes have room",
        "scheduling.insufficient_resources",
    ),
    "two zones": (
        "SCH104",
        label("topology.kubernetes.io/zone", "us-west-2b"),
        Status.FAIL,
        "in 2 zones",
        "network.subnets_in_different_zones",
    ),
    "quota": (
        "QUO101",
        add("ResourceQuota", "team", status={"hard": {"requests.nvidia.com/gpu": "8"}, "used": {}}),
        Status.FAIL,
        "requests.nvidia.com/gpu: 8 of 8 left, 16 needed",
        "kubernetes.quota_exceeded",
    ),
    "limit range": (
        "QUO102",
        add("LimitRange", "small", spec={"limits": [{"type": "Container", "default": {"memory": "512Mi"}}]}),
        Status.FAIL,
        "limits memory to 512 MiB",
        "kubernetes.quota_exceeded",
    ),
    "limit range maximum": (
        "QUO102",
        add("LimitRange", "small", spec={"limits": [{"type": "Pod", "max": {"cpu": "500m"}}]}),
        Status.FAIL,
        "at most 0.5 of cpu, and a pod has 1",
        "",
    ),
    "pod security": (
        "POD101",
        all_of(
            lambda w: w.named("Namespace", "train")["metadata"].update(
                {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}
            ),
            scope(template={"spec": {"hostNetwork": True, "containers": [{"name": "a", "image": "a/b:1"}]}}),
        ),
        Status.FAIL,
        "enforces baseline, against which the pods have hostNetwork",
        "pod.security_rejected",
    ),
    "no namespace": ("POD101", drop("Namespace", "train"), Status.FAIL, "There is no namespace train.", ""),
    "admission policy": (
        "POD102",
        given(k.AdmissionDocument(False, 422, "ValidatingAdmissionPolicy 'images' denied")),
        Status.FAIL,
        "ValidatingAdmissionPolicy 'images' denied",
        "pod.security_rejected",
    ),
    "webhook down": (
        "POD102",
        given(k.AdmissionDocument(False, 500, 'failed calling webhook "v.kyverno.svc": no endpoints')),
        Status.FAIL,
        "failed calling webhook",
        "kubernetes.webhook_unavailable",
    ),
    "quota at admission": (
        "POD102",
        given(k.AdmissionDocument(False, 403, "pods is forbidden: exceeded quota: team")),
        Status.FAIL,
        "exceeded quota",
        "kubernetes.quota_exceeded",
    ),
    "warning": (
        "POD102",
        given(k.AdmissionDocument(True, 201, "", ("would violate PodSecurity",))),
        Status.WARN,
        "would violate",
        "",
    ),
    "unschedulable": (
        "POD103",
        stuck(
            "Unschedulable",
            "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) "
            "had untolerated taint {team: a}. preemption: 0/2 …",
            "",
            "unscheduled",
        ),
        Status.FAIL,
        "1 has too little free nvidia.com/gpu; 1 has a taint that the pods do not tolerate (team: a)",
        "",
    ),
    "queue": (
        "POD103",
        stuck("Queued", "queue team has not admitted the Job, which is suspended", "", "absent"),
        Status.FAIL,
        "its turn has not come: queue team has not admitted the Job",
        "scheduling.queue_not_admitted",
    ),
    "image absent": (
        "POD103",
        stuck("ErrImagePull", 'failed to resolve reference "a/b:2": a/b:2: not found'),
        Status.FAIL,
        "the image does not exist under this name",
        "image.not_found",
    ),
    "image denied": (
        "POD103",
        stuck("ImagePullBackOff", "pulling a/b: 403 Forbidden"),
        Status.FAIL,
        "the registry refuses these credentials",
        "image.pull_denied",
    ),
    "image other CPU": (
        "POD103",
        stuck("ErrImagePull", "no match for platform in manifest: not found"),
        Status.FAIL,
        "another CPU architecture",
        "image.wrong_architecture",
    ),
    "registry throttles": (
        "POD103",
        stuck("ErrImagePull", "429 Too Many Requests - toomanyrequests"),
        Status.FAIL,
        "limits the rate of pulls",
        "image.pull_slow_or_throttled",
    ),
    "registry by a digest with numbers": (
        "POD103",
        stuck("ErrImagePull", "failed to resolve a/b@sha256:4a401b403c429d: not found"),
        Status.FAIL,
        "the image does not exist under this name",
        "image.not_found",
    ),
    "registry of AWS out of reach": (
        "POD103",
        stuck("ErrImagePull", 'Head "https://1.dkr.ecr.r.amazonaws.com/v2/a": dial tcp 10.0.3.4:443: i/o timeout'),
        Status.FAIL,
        "the node can't reach the registry",
        "network.missing_vpc_endpoints",
    ),
    "registry out of reach": (
        "POD103",
        stuck("ErrImagePull", "dial tcp 10.0.3.4:443: connect: connection refused"),
        Status.FAIL,
        "the node can't reach the registry",
        "network.route_missing",
    ),
    "registry's name unknown": (
        "POD103",
        stuck("ErrImagePull", "dial tcp: lookup hub.invalid on 10.0.0.2:53: no such host"),
        Status.FAIL,
        "does not resolve on the node",
        "network.name_unresolved",
    ),
    "no python": (
        "POD103",
        stuck("StartError", 'exec: "python3": executable file not found in $PATH', state="ended"),
        Status.FAIL,
        "its container dies at once",
        "",
    ),
    "oom": ("POD104", ended("OOMKilled"), Status.FAIL, "killed for memory", "pod.oom_killed"),
    "no python at the end": (
        "POD104",
        ended("StartError", 'exec: "python3": executable file not found in $PATH', 128),
        Status.FAIL,
        "with exit code 128",
        "pod.command_not_found",
    ),
    "node lost": (
        "POD104",
        ended("NodeLost", "node went away", None, "running"),
        Status.FAIL,
        "its node stopped answering",
        "node.kubelet_down",
    ),
    "preempted": (
        "POD104",
        ended("Preempted", "by train/other"),
        Status.FAIL,
        "evicted",
        "scheduling.evicted_by_priority",
    ),
    "default deny": (
        "NET101",
        all_of(add("NetworkPolicy", "deny", spec=DENY_ALL), scope(template=LIKE_POD)),
        Status.FAIL,
        "on no port",
        "network.network_policy_blocks_ranks",
    ),
    "deny all to the job's own pods": (
        "NET101",
        all_of(
            add("NetworkPolicy", "deny", spec={**DENY_ALL, "podSelector": {"matchLabels": {"job-name": "sft"}}}),
            scope(template=LIKE_POD, added_labels={"job-name": "sft"}),
        ),
        Status.FAIL,
        "on no port",
        "network.network_policy_blocks_ranks",
    ),
    "one port": (
        "NET101",
        add(
            "NetworkPolicy",
            "one",
            spec={**DENY_ALL, "ingress": [{"from": [{"podSelector": {}}], "ports": [{"port": 29500}]}]},
        ),
        Status.FAIL,
        "only on 29500",
        "network.network_policy_blocks_ranks",
    ),
    "by address": (
        "NET101",
        add("NetworkPolicy", "cidr", spec={**DENY_ALL, "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}),
        Status.UNKNOWN,
        "by addresses",
        "",
    ),
    "service hides": (
        "JOB101",
        all_of(add("Service", "train", spec=HEADLESS), scope(template=PROBED)),
        Status.FAIL,
        "Service train gives names to pods only once they are ready, which a probe decides.",
        "job.service_hides_unready_pods",
    ),
    "service hides pods that run": (
        "JOB101",
        all_of(
            add("Service", "train", spec={"clusterIP": "None", "selector": {"job-name": "sft"}}),
            scope(template=LIKE_POD, added_labels={"job-name": "sft"}),
            add("Pod", "sft-0", metadata={"labels": {"job-name": "sft"}}, spec={"nodeName": "node-0"}, status=UNREADY),
            add("Pod", "other-0", metadata={"labels": {"job-name": "x"}}, spec={"nodeName": "node-0"}, status=UNREADY),
        ),
        Status.FAIL,
        "Service train gives names to pods only once they are ready: 1 that run are not, and have none.",
        "job.service_hides_unready_pods",
    ),
    "service of the manifest hides": (
        "JOB101",
        scope(template=PROBED, services=({"metadata": {"name": "sft"}, "spec": HEADLESS},)),
        Status.FAIL,
        "Service sft gives names to pods only once they are ready, which a probe decides.",
        "job.service_hides_unready_pods",
    ),
    "service hides for a moment": (
        "JOB101",
        all_of(add("Service", "train", spec=HEADLESS), scope(template=LIKE_POD)),
        Status.WARN,
        "Service train gives names to pods only once they are ready.",
        "",
    ),
    "claim absent": (
        "STO101",
        plan(**WITH_CLAIM),
        Status.FAIL,
        "There is no claim data in namespace train.",
        "storage.pvc_not_bound",
    ),
    "claim without class": (
        "STO101",
        all_of(plan(**WITH_CLAIM), add("PersistentVolumeClaim", "data", **CLAIM)),
        Status.FAIL,
        "there is no storage class fsx",
        "storage.pvc_not_bound",
    ),
    "claim of one node": (
        "STO101",
        all_of(plan(**WITH_CLAIM), add("PersistentVolumeClaim", "data", **ONCE)),
        Status.FAIL,
        "can't share it",
        "storage.volume_multi_attach",
    ),
    "no driver": (
        "STO102",
        all_of(plan(**WITH_CLAIM), FSX_CLASS, add("PersistentVolumeClaim", "data", **CLAIM)),
        Status.FAIL,
        "The driver fsx.csi.aws.com of claim data is not installed.",
        "storage.csi_driver_not_installed",
    ),
    "driver not on a node": (
        "STO102",
        all_of(
            plan(**WITH_CLAIM),
            FSX_CLASS,
            FSX_DRIVER,
            add("PersistentVolumeClaim", "data", **BOUND),
            add("CSINode", "node-0", spec={"drivers": [{"name": "fsx.csi.aws.com"}]}),
        ),
        Status.FAIL,
        "registered on 1 of 2 nodes, not on node-1.",
        "storage.csi_driver_not_installed",
    ),
    "volume elsewhere": (
        "STO103",
        all_of(
            plan(**WITH_CLAIM),
            EBS_VOLUME,
            add("CSIDriver", "ebs.csi.aws.com"),
            *(add("CSINode", n, spec={"drivers": [{"name": "ebs.csi.aws.com"}]}) for n in ("node-0", "node-1")),
            add("PersistentVolumeClaim", "data", **BOUND),
        ),
        Status.FAIL,
        "0 of 2 nodes are where the volume of data is (us-west-2c).",
        "storage.volume_zone_conflict",
    ),
    "volume would be elsewhere": (
        "STO103",
        all_of(
            plan(**WITH_CLAIM),
            add(
                "StorageClass",
                "fsx",
                provisioner="ebs.csi.aws.com",
                volumeBindingMode="WaitForFirstConsumer",
                allowedTopologies=[
                    {"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["us-west-2c"]}]}
                ],
            ),
            add("PersistentVolumeClaim", "data", **CLAIM),
        ),
        Status.FAIL,
        "0 of 2 nodes are where the volume of data would be (us-west-2c).",
        "",
    ),
    "volume of one node": (
        "STO103",
        all_of(
            plan(**WITH_CLAIM),
            add(
                "PersistentVolume",
                "v",
                spec={
                    "local": {"path": "/mnt"},
                    "nodeAffinity": {
                        "required": {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [
                                        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-0"]}
                                    ]
                                }
                            ]
                        }
                    },
                },
            ),
            add("PersistentVolumeClaim", "data", **BOUND),
        ),
        Status.FAIL,
        "1 of 2 nodes are where the volume of data is (node-0).",
        "storage.volume_zone_conflict",
    ),
    "latest": ("IMG101", plan(image="a/b:latest"), Status.WARN, "the tag latest", ""),
    "no image": ("IMG101", plan(image="A B"), Status.FAIL, "is no name of an image", ""),
    "denied read": (
        "KUB101",
        given(k.AccessDocument((k.Review("list", "", "nodes", "", False, "nodes", "read"),))),
        Status.UNKNOWN,
        "You may not list nodes in the cluster",
        "kubernetes.rbac_forbidden",
    ),
    "denied logs": (
        "KUB101",
        given(k.AccessDocument((k.Review("get", "", "pods/log", "train", False, "logs", "quick"),))),
        Status.FAIL,
        "You may not get pods/log in namespace train",
        "kubernetes.rbac_forbidden",
    ),
    "old kubelet": ("KUB102", info("kubeletVersion", "v1.30.1-eks"), Status.FAIL, "v1.30.1", "eks.version_unsupported"),
    "newer kubelet": ("KUB102", info("kubeletVersion", "v1.35.0"), Status.FAIL, "v1.35.0", "eks.version_unsupported"),
    "no operator": (
        "KUB103",
        plan(job={"kind": "TrainJob"}),
        Status.FAIL,
        "is not installed",
        "kubernetes.crd_missing",
    ),
    "other version": (
        "KUB103",
        all_of(plan(job={"kind": "MPIJob"}), add("CustomResourceDefinition", "m", **MPI_CRD)),
        Status.FAIL,
        "is served as v1, not as v2beta1",
        "kubernetes.crd_version_conflict",
    ),
    "two operators": (
        "KUB104",
        all_of(
            add("CustomResourceDefinition", "m", **MPI_CRD), operator("training-operator"), operator("mpi-operator")
        ),
        Status.FAIL,
        "training-operator and mpi-operator claim it",
        "kubernetes.crd_version_conflict",
    ),
    "dns down": (
        "KUB105",
        lambda w: [e["conditions"].update(ready=False) for o in w.objects for e in o.get("endpoints", [])],
        Status.FAIL,
        "0 of 2 endpoints of the cluster's DNS are ready.",
        "kubernetes.dns_down",
    ),
    "no dns": ("KUB105", drop("EndpointSlice"), Status.FAIL, "nothing serves names", "kubernetes.dns_down"),
    "left over": ("KUB106", given(k.CleanupDocument(("job/x",), ("pod/x-0",), 30.0)), Status.WARN, "pod/x-0", ""),
    "deletion unknown": (
        "KUB106",
        given(k.CleanupDocument(("job/x",), (), 1.0, "The API server is gone.")),
        Status.UNKNOWN,
        "not known",
        "",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found_and_explained(name: str) -> None:
    check, act, status, words, cause = FAULTS[name]
    world = healthy()
    act(world)
    findings, diagnoses = world.judge()
    assert worst(findings, check) is status, [str(f.message) for f in findings if f.check == check]
    assert any(words in f.message for f in findings if f.check == check and f.status is status), [
        f.message for f in findings if f.check == check
    ]
    bad = {f.key for f in findings if f.status in BAD}
    for d in diagnoses:
        assert set(d.explains) <= bad and d.evidence and d.subjects and d.commands and d.summary.endswith("."), d
    if cause:
        assert [d.cause for d in diagnoses][:1] == [cause]
        assert (
            diagnoses[0].evidence and diagnoses[0].summary.endswith((".", "…")) and "None" not in diagnoses[0].summary
        )


def test_healthy_cluster_has_no_finding_to_mend_and_no_cause() -> None:
    findings, diagnoses = healthy().judge()
    assert not [f for f in findings if f.status in BAD]
    assert diagnoses == ()


def test_every_check_of_a_cluster_is_broken_here() -> None:
    assert {fault[0] for fault in FAULTS.values()} == kubernetes_checks()


def seen_well() -> set[str]:
    claims = all_of(
        plan(**WITH_CLAIM), FSX_CLASS, FSX_DRIVER, add("PersistentVolumeClaim", "data", **BOUND),
        *(add("CSINode", n, spec={"drivers": [{"name": "fsx.csi.aws.com"}]}) for n in ("node-0", "node-1")),
        add("PersistentVolume", "v", spec={"csi": {"driver": "fsx.csi.aws.com"}, "nodeAffinity": {"required": {
            "nodeSelectorTerms": [{"matchExpressions": [
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-west-2a"]}]}]}}}),
    )  # fmt: skip
    crd = {**MPI_CRD["spec"], "versions": [{"name": "v2beta1", "served": True}]}
    mpi = all_of(plan(job={"kind": "MPIJob"}), add("CustomResourceDefinition", "m", spec=crd), operator("mpi-operator"))
    watched = condition("AcceleratedHardwareReady", "True")
    early = all_of(
        add("Service", "train", spec={**HEADLESS, "publishNotReadyAddresses": True}), scope(template=LIKE_POD)
    )
    branches = all_of(cni(ENABLE_POD_ENI="true"), given(k.AdmissionDocument(True, 201)))
    worlds = [healthy() for _ in range(6)]
    for world, act in zip(worlds[1:], (claims, mpi, watched, early, branches), strict=True):
        act(world)
    return {f.check for world in worlds for f in world.judge()[0] if f.status is Status.OK}


def test_every_check_of_a_cluster_has_been_seen_to_pass() -> None:
    assert seen_well() == kubernetes_checks()


@pytest.mark.parametrize(
    "act",
    [
        add("NetworkPolicy", "ok", spec={**DENY_ALL, "ingress": [{"from": [{"podSelector": {}}]}]}),
        add(
            "NetworkPolicy", "others", spec={"podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Ingress"]}
        ),
        all_of(taint("nvidia.com/gpu"), taint("nvidia.com/gpu", "node-0")),
        all_of(
            cni(NETWORK_POLICY_ENFORCING_MODE="strict"),
            add(
                "NetworkPolicy",
                "all",
                spec={"podSelector": {}, "policyTypes": ["Ingress", "Egress"], "ingress": [{}], "egress": [{}]},
            ),
        ),
        cni(AWS_VPC_ENI_MTU="9001", WARM_IP_TARGET="5", ENABLE_PREFIX_DELEGATION="true"),
        add("ResourceQuota", "big", status={"hard": {"requests.nvidia.com/gpu": "64"}, "used": {}}),
        lambda w: w.add({**pod("done", "node-1", gpu="8"), "status": {"phase": "Succeeded"}}),
        info("kubeletVersion", "v1.32.0-eks"),
        lambda w: w.add(node("cpu-1", "m7i.4xlarge", gpus=0, efa=0)),
    ],
    ids=[
        "policy allows",
        "policy of others",
        "tolerated taint",
        "policy where one is needed",
        "tuned CNI",
        "roomy quota",
        "finished job",
        "older kubelet",
        "cpu node",
    ],
)
def test_near_misses_are_well(act: Break) -> None:
    world = healthy()
    act(world)
    findings, diagnoses = world.judge()
    assert not [f.message for f in findings if f.status in (Status.FAIL, Status.UNKNOWN)]
    assert diagnoses == ()


@pytest.mark.parametrize(("bundle", "caught"), [("all-ports-dropped", True), ("healthy", False)])
def test_groups_of_the_pods_own_explain_ports_that_are_dropped_and_nothing_else(bundle: str, caught: bool) -> None:
    world = healthy()
    all_of(cni(ENABLE_POD_ENI="true"), given(k.AdmissionDocument(True, 201, limits=BRANCH)))(world)
    world.given |= replay.read(Path(__file__).parents[1] / "bundles" / bundle).logs
    findings, diagnoses = world.judge("CNI103", "NET001", "NET002")
    assert worst(findings, "CNI103") is Status.WARN
    assert [d.cause for d in diagnoses] == (["cni.pod_security_groups_block_ranks"] if caught else [])


@pytest.mark.parametrize(("label", "caught"), [({"job-name": "sft"}, True), ({"app": "train"}, False)])
def test_agents_that_connect_acquit_only_the_policies_that_select_them(label: dict[str, str], caught: bool) -> None:
    world = healthy()
    policy = {**DENY_ALL, "podSelector": {"matchLabels": label}}
    all_of(add("NetworkPolicy", "deny", spec=policy), scope(template=LIKE_POD, added_labels={"job-name": "sft"}))(world)
    world.given |= replay.read(Path(__file__).parents[1] / "bundles" / "healthy").logs
    _, diagnoses = world.judge("NET101", "NET001", "NET002")
    assert [d.cause for d in diagnoses] == (["network.network_policy_blocks_ranks"] if caught else [])
