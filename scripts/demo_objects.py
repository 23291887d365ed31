"""The cluster of the demo, which does not exist: what kubectl and the AWS CLI would print of it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gonogo.collect.kube_access import NEEDS
from gonogo.documents import kubernetes as k

Dict = dict[str, Any]

AT = 1_796_032_800.0  # 2026-11-30 10:00 UTC
ACCOUNT, ZONE, VPC = "123456789012", "us-east-1a", "vpc-0d5e8c1b7a9f3e624"
CONTEXT, NAMESPACE = "vision", "train"
SERVER = "https://6B1F0D3A9C2E47F8A5D4C3B2A1908F7E.gr7.us-east-1.eks.amazonaws.com"
KERNEL = "6.12.40-64.114.amzn2023.x86_64"
TYPE, AMI = "g6.4xlarge", "ami-0c4f1e7d2b8a96350"
CLUSTER_GROUP = "sg-0c7e2f4a81d95b360"
USER_JOB = "vision-train"


@dataclass(frozen=True)
class Node:
    """One node, and the address of the pod that ran on it."""

    address: str
    pod_address: str
    instance: str
    interface: str
    nodegroup: str
    group: str

    @property
    def name(self) -> str:
        return f"ip-{self.address.replace('.', '-')}.ec2.internal"


_A, _B = ("gpu-a", "sg-0a1d3f5b7c9e02468"), ("gpu-b", "sg-0b2c4e6f8a0d13579")
NODES = (
    Node("10.0.1.11", "10.0.1.57", "i-04a9c2e1f7b3d8056", "eni-0f1a2b3c4d5e6f701", *_A),
    Node("10.0.1.12", "10.0.1.93", "i-0b7d1f3e5a9c24680", "eni-0f1a2b3c4d5e6f702", *_A),
    Node("10.0.2.17", "10.0.2.44", "i-0e5f7a9b1c3d24681", "eni-0f1a2b3c4d5e6f703", *_B),
    Node("10.0.2.18", "10.0.2.121", "i-06c8e0a2b4d6f1357", "eni-0f1a2b3c4d5e6f704", *_B),
)


def stamp(seconds: float) -> str:
    """The time so long after the run began, as Kubernetes writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(AT + seconds))


def kubernetes(run: str) -> dict[str, bytes]:
    """File -> content; lists as `kubectl get -o json` prints them, and what gonogo asks the API besides."""
    lists = {
        "nodes": [_node(n) for n in NODES],
        "pods": [*(_user_pod(i, n) for i, n in enumerate(NODES)), *(_daemon_pod(d, n) for d in _SETS for n in NODES)],
        "daemonsets": [_daemon_set(name, image) for name, image in _SETS.items()],
        "jobs": [_job()],
        "events": _events(),
        "endpointslices": [_dns()],
        "namespaces": [_object("Namespace", NAMESPACE, "")],
    }
    answers: tuple[object, ...] = (
        k.Scope(CONTEXT, NAMESPACE, no_gpu=True),
        k.ServerDocument("v1.34.1-eks-113cf36", SERVER),
        k.AccessDocument(tuple(
            k.Review(verb, n.group, n.resource, NAMESPACE if n.where == "namespace" else "", True, n.why, n.level)
            for n in NEEDS for verb in n.verbs
        )),
        k.AdmissionDocument(True, 201),
        k.PodsDocument(tuple(k.PodStart(f"gonogo-{run}-{i}", i, n.name, "running", seconds=21.4 + i / 10)
                             for i, n in enumerate(NODES))),
        k.EndsDocument(tuple(k.PodStart(f"gonogo-{run}-{i}", i, n.name, "ended", "Completed", exit_code=0)
                             for i, n in enumerate(NODES))),
        k.CleanupDocument(tuple(f"{kind}/gonogo-{run}" for kind in ("job", "service", "configmap")), (), 3.1),
    )  # fmt: skip
    made = {f"kubernetes/{name}.json": _printed(_list(items)) for name, items in lists.items()}
    for kind in k.KINDS.values():  # the API was asked, and has none
        name = f"kubernetes/{kind.plural}.json"
        made.setdefault(name, kind.head() + b"\n" + k.FOOT + b"\n")
    return made | {str(a.file): k.answer_json(a) + b"\n" for a in answers}  # type: ignore[attr-defined]


def aws() -> dict[str, bytes]:
    """The two answers of EC2 that say which rules stand between the nodes."""
    reservations = [
        {"Groups": [], "Instances": [_instance(n)], "OwnerId": ACCOUNT, "ReservationId": f"r-{n.instance[2:]}"}
        for n in NODES
    ]
    groups = [_cluster_group(), *(_node_group(name, id) for name, id in (_A, _B))]
    return {
        "aws/describe-instances.json": _printed({"Reservations": reservations}),
        "aws/describe-security-groups.json": _printed({"SecurityGroups": groups}),
    }


def _printed(data: Any) -> bytes:
    return json.dumps(data, indent=4).encode() + b"\n"


def _list(items: Iterable[Dict]) -> Dict:
    return {"apiVersion": "v1", "items": list(items), "kind": "List", "metadata": {"resourceVersion": ""}}


def _object(kind: str, name: str, namespace: str = NAMESPACE, api: str = "v1", **more: Any) -> Dict:
    metadata = {"creationTimestamp": stamp(-86400), **more.pop("metadata", {}), "name": name}
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": metadata | ({"namespace": namespace} if namespace else {}),
        **more,
    }


def _node(n: Node) -> Dict:
    amounts = {"cpu": "16", "ephemeral-storage": "104779756Ki", "hugepages-1Gi": "0", "hugepages-2Mi": "0",
               "memory": "64371812Ki", "nvidia.com/gpu": "1", "pods": "234"}  # fmt: skip
    reasons = {
        "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
    }
    conditions = [
        {"lastHeartbeatTime": stamp(-40), "lastTransitionTime": stamp(-86000), "message": message, "reason": reason,
         "status": status, "type": kind}
        for kind, (status, reason, message) in reasons.items()
    ]  # fmt: skip
    labels = {
        "eks.amazonaws.com/nodegroup": n.nodegroup,
        "eks.amazonaws.com/nodegroup-image": AMI,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": n.name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": TYPE,
        "topology.kubernetes.io/region": ZONE[:-1],
        "topology.kubernetes.io/zone": ZONE,
    }
    info = {"architecture": "amd64", "containerRuntimeVersion": "containerd://2.1.4", "kernelVersion": KERNEL,
            "kubeletVersion": "v1.34.1-eks-113cf36", "operatingSystem": "linux",
            "osImage": "Amazon Linux 2023.9.20251117"}  # fmt: skip
    status = {
        "addresses": [
            {"address": n.address, "type": "InternalIP"},
            {"address": n.name, "type": "InternalDNS"},
            {"address": n.name, "type": "Hostname"},
        ],
        "allocatable": amounts | {"cpu": "15890m", "memory": "61237348Ki"},
        "capacity": amounts,
        "conditions": conditions,
        "nodeInfo": info,
    }
    return _object("Node", n.name, "", metadata={"labels": labels},
                   spec={"providerID": f"aws:///{ZONE}/{n.instance}"}, status=status)  # fmt: skip


_SETS = {
    "aws-node": "602401143452.dkr.ecr.us-east-1.amazonaws.com/amazon-k8s-cni:v1.21.1-eksbuild.1",
    "kube-proxy": "602401143452.dkr.ecr.us-east-1.amazonaws.com/eks/kube-proxy:v1.34.1-eksbuild.2",
    "nvidia-device-plugin": "nvcr.io/nvidia/k8s-device-plugin:v0.19.3",
}


def _daemon_set(name: str, image: str) -> Dict:
    pod = {"containers": [{"image": image, "name": name}], "tolerations": [{"operator": "Exists"}]}
    count = len(NODES)
    status = {"currentNumberScheduled": count, "desiredNumberScheduled": count, "numberAvailable": count,
              "numberMisscheduled": 0, "numberReady": count}  # fmt: skip
    return _object("DaemonSet", name, "kube-system", "apps/v1",
                   spec={"template": {"metadata": {"labels": {"app": name}}, "spec": pod}}, status=status)  # fmt: skip


def _daemon_pod(owner: str, n: Node) -> Dict:
    suffix = n.instance[-5:]
    reference = {"apiVersion": "apps/v1", "controller": True, "kind": "DaemonSet", "name": owner}
    return _object(
        "Pod", f"{owner}-{suffix}", "kube-system", metadata={"ownerReferences": [reference]},
        spec={"containers": [{"image": _SETS[owner], "name": owner, "resources": {}}], "nodeName": n.name},
        status={"conditions": [{"status": "True", "type": "Ready"}], "hostIP": n.address, "phase": "Running"},
    )  # fmt: skip


def _user_pod(index: int, n: Node) -> Dict:
    """A pod of the user's own job, that died waiting: why somebody ran gonogo."""
    said = (
        "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 2/4 clients joined.\n"
        if index == 0
        else "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to "
        f"connect to ({USER_JOB}-0.{USER_JOB}, 29500).\n"
        if index > 1
        else "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 2/4 clients joined.\n"
    )
    ended = {"exitCode": 1, "finishedAt": stamp(-1200), "message": said, "reason": "Error", "startedAt": stamp(-1840)}
    container = {"image": "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.9.0-gpu-py312-cu130-"
                 "ubuntu22.04-ec2", "name": "train", "resources": {"limits": {"nvidia.com/gpu": "1"}}}  # fmt: skip
    return _object(
        "Pod", f"{USER_JOB}-{index}", metadata={
            "labels": {"batch.kubernetes.io/job-completion-index": str(index), "job-name": USER_JOB},
            "ownerReferences": [{"apiVersion": "batch/v1", "controller": True, "kind": "Job", "name": USER_JOB}],
        },
        spec={"containers": [container], "nodeName": n.name, "restartPolicy": "Never"},
        status={
            "containerStatuses": [{"name": "train", "ready": False, "restartCount": 0,
                                   "state": {"terminated": ended}}],
            "hostIP": n.address, "phase": "Failed",
        },
    )  # fmt: skip


def _job() -> Dict:
    failed = {"lastTransitionTime": stamp(-1190), "message": "Job has reached the specified backoff limit",
              "reason": "BackoffLimitExceeded", "status": "True", "type": "Failed"}  # fmt: skip
    spec = {"backoffLimit": 0, "completionMode": "Indexed", "completions": 4, "parallelism": 4}
    return _object("Job", USER_JOB, api="batch/v1", spec=spec,
                   status={"conditions": [failed], "failed": 4, "startTime": stamp(-1860)})  # fmt: skip


def _events() -> list[Dict]:
    told = [
        (f"{USER_JOB}-{i}", "Pod", "Normal", "Scheduled",
         f"Successfully assigned {NAMESPACE}/{USER_JOB}-{i} to {n.name}", -1858.0)
        for i, n in enumerate(NODES)
    ]  # fmt: skip
    told.append((USER_JOB, "Job", "Warning", "BackoffLimitExceeded", "Job has reached the specified backoff limit",
                 -1190.0))  # fmt: skip
    return [
        _object("Event", f"{name}.18{number:x}", involvedObject={"kind": kind, "name": name, "namespace": NAMESPACE},
                type=type, reason=reason, message=message, count=1, firstTimestamp=stamp(at), lastTimestamp=stamp(at))
        for number, (name, kind, type, reason, message, at) in enumerate(told, 0x7CA)
    ]  # fmt: skip


def _dns() -> Dict:
    endpoints = [{"addresses": [f"10.0.{i}.200"], "conditions": {"ready": True}} for i in (1, 2)]
    return _object("EndpointSlice", "kube-dns-7xk2p", "kube-system", "discovery.k8s.io/v1",
                   metadata={"labels": {"kubernetes.io/service-name": "kube-dns"}}, endpoints=endpoints)  # fmt: skip


def _instance(n: Node) -> Dict:
    groups = [{"GroupId": n.group, "GroupName": f"{CONTEXT}-{n.nodegroup}"}]
    addresses = [{"Primary": address == n.address, "PrivateIpAddress": address}
                 for address in (n.address, n.pod_address)]  # fmt: skip
    interface = {
        "Attachment": {"DeviceIndex": 0, "NetworkCardIndex": 0, "Status": "attached"},
        "Groups": groups,
        "InterfaceType": "interface",
        "NetworkInterfaceId": n.interface,
        "OwnerId": ACCOUNT,
        "PrivateIpAddress": n.address,
        "PrivateIpAddresses": addresses,
        "SourceDestCheck": True,
        "Status": "in-use",
        "VpcId": VPC,
    }
    return {
        "ImageId": AMI,
        "InstanceId": n.instance,
        "InstanceType": TYPE,
        "NetworkInterfaces": [interface],
        "Placement": {"AvailabilityZone": ZONE, "Tenancy": "default"},
        "PrivateDnsName": n.name,
        "PrivateIpAddress": n.address,
        "SecurityGroups": groups,
        "State": {"Code": 16, "Name": "running"},
        "Tags": [{"Key": "eks:cluster-name", "Value": CONTEXT}, {"Key": "eks:nodegroup-name", "Value": n.nodegroup}],
        "VpcId": VPC,
    }


def _rule(source: str, ports: tuple[int, int] | None = None) -> Dict:
    pair = {"GroupId": source, "UserId": ACCOUNT}
    rule: Dict = {"IpProtocol": "tcp" if ports else "-1", "UserIdGroupPairs": [pair], "IpRanges": [],
                  "Ipv6Ranges": [], "PrefixListIds": []}  # fmt: skip
    return rule | ({"FromPort": ports[0], "ToPort": ports[1]} if ports else {})


def _group(id: str, name: str, about: str, rules: list[Dict]) -> Dict:
    out = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}], "Ipv6Ranges": [], "PrefixListIds": [],
           "UserIdGroupPairs": []}  # fmt: skip
    return {"GroupId": id, "IpPermissionsEgress": [out], "VpcId": VPC, "OwnerId": ACCOUNT, "GroupName": name,
            "Description": about, "IpPermissions": rules}  # fmt: skip


def _cluster_group() -> Dict:
    name = f"eks-cluster-sg-{CONTEXT}"
    return _group(CLUSTER_GROUP, name, "Control plane", [_rule(CLUSTER_GROUP), *(_rule(id) for _, id in (_A, _B))])


def _node_group(name: str, id: str) -> Dict:
    """All from itself, the kubelet and webhooks from the control plane: nothing from the other node group."""
    rules = [_rule(id), _rule(CLUSTER_GROUP, (443, 443)), _rule(CLUSTER_GROUP, (1025, 65535))]
    return _group(id, f"{CONTEXT}-{name}", f"Nodes of {name}", rules)
