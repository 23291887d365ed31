"""What a run would apply: one pod a node, where plan and job say, with as little privilege as can be."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from typing import Any

import httpx2 as httpx
import pytest
from kube_world import healthy

from gonogo.agent.build import build
from gonogo.agent.spec import Spec
from gonogo.checks.pod.pod101_pod_security import violations
from gonogo.clients.kube import Cluster
from gonogo.collect import kube_access
from gonogo.collect.kube_pods import pod_start
from gonogo.collect.kube_project import projected
from gonogo.documents.kubernetes import NodeObjects, Scope
from gonogo.facts.kube_nodes import chosen_nodes, cluster_nodes
from gonogo.facts.kube_workload import IMAGE, design
from gonogo.launch import manifests, pods
from gonogo.launch.manifests import RUN_LABEL, Design
from gonogo.model import LEVELS
from gonogo.plan import Plan

Dict = dict[str, Any]


def run(plan: Plan | None = None, scope: Scope | None = None, restricted: bool = False, **more: Any) -> Design:
    plan, scope = plan or Plan(), scope or Scope(namespace="train")
    objects = [o for o in healthy().objects if o["kind"] == "Node"]
    nodes = chosen_nodes(cluster_nodes(NodeObjects.of(objects)), scope, plan)
    work = design(plan, scope, list(nodes.present.values()), nodes.asked)
    names = [s.name for s in nodes.present]
    steps = ("node", "ports", "join", "links", "storage", "train")
    return manifests.design(
        work, plan, run="k7f3", level="quick", steps=steps, nodes=names, restricted=restricted, **more
    )


def container(of: Design) -> Dict:
    found: Dict = manifests.pod_spec(of)["containers"][0]
    return found


def test_the_three_objects_belong_together() -> None:
    made = {o["kind"]: o for o in manifests.objects(run(), build(), {"kind": "Job", "name": "x", "uid": "1"})}
    assert set(made) == {"ConfigMap", "Service", "Job"}
    assert {o["metadata"]["name"] for o in made.values()} == {"gonogo-k7f3"}
    assert all(o["metadata"]["labels"][RUN_LABEL] == "k7f3" for o in made.values())
    assert made["Service"]["spec"]["publishNotReadyAddresses"] and made["Service"]["spec"]["clusterIP"] == "None"
    assert made["ConfigMap"]["metadata"]["ownerReferences"][0]["uid"] == "1"
    job = made["Job"]["spec"]
    assert (job["completions"], job["parallelism"], job["completionMode"]) == (2, 2, "Indexed")
    assert job["backoffLimitPerIndex"] == 0 and job["activeDeadlineSeconds"] > 600 and job["ttlSecondsAfterFinished"]
    assert len(json.dumps(made["ConfigMap"])) < 1 << 20


def test_the_agent_travels_whole_with_what_it_is_told() -> None:
    made = manifests.config_map(run(), build())
    archive = zipfile.ZipFile(io.BytesIO(base64.b64decode(made["binaryData"]["gonogo-agent.pyz"])))
    assert {"__main__.py", "gonogo/agent/main.py"} <= set(archive.namelist())
    spec = Spec.from_json(made["data"]["spec.json"])
    assert spec.addresses == ["gonogo-k7f3-0.gonogo-k7f3.train.svc", "gonogo-k7f3-1.gonogo-k7f3.train.svc"]
    assert spec.steps == ["node", "ports", "join", "links", "train"]  # no storage, since no claim is mounted
    assert spec.step_seconds["ports"] > spec.start_seconds > 30


def test_whole_nodes_are_asked_for() -> None:
    asked = container(run())["resources"]
    assert asked["limits"] == {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "4", "hugepages-2Mi": "5Gi"}
    assert container(run())["image"] == IMAGE
    bare = container(run(scope=Scope(namespace="train", no_gpu=True)))["resources"]
    assert "limits" not in bare and bare["requests"] == {"cpu": "1", "memory": "2Gi"}
    assert (
        "vpc.amazonaws.com/efa"
        not in container(run(Plan.model_validate({"fabric": {"kind": "tcp"}})))["resources"]["limits"]
    )


def test_only_chosen_nodes_and_one_pod_on_each() -> None:
    affinity = manifests.pod_spec(run())["affinity"]
    terms = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms[0]["matchExpressions"][0]["values"] == ["node-0", "node-1"]
    apart = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    assert apart["labelSelector"]["matchLabels"] == {RUN_LABEL: "k7f3"}


def test_least_privilege_keeps_to_restricted() -> None:
    spec = manifests.pod_spec(run(restricted=True))
    assert list(violations("restricted", spec)) == []
    own = spec["containers"][0]["securityContext"]
    assert own["capabilities"] == {"drop": ["ALL"]} and own["allowPrivilegeEscalation"] is False
    assert spec["securityContext"]["runAsNonRoot"] and spec["automountServiceAccountToken"] is False


LIKE: Dict = {
    "metadata": {"labels": {"app": "train", "kueue.x-k8s.io/queue-name": "team"}, "annotations": {"a": "b"}},
    "spec": {
        "priorityClassName": "high", "schedulerName": "volcano", "serviceAccountName": "trainer",
        "tolerations": [{"key": "gpu", "operator": "Exists"}], "nodeSelector": {"pool": "a"},
        "imagePullSecrets": [{"name": "s"}], "restartPolicy": "OnFailure",
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "fsx"}}],
        "containers": [
            {"name": "sidecar", "image": "log/ship:1"},
            {"name": "t", "image": "a/b:1", "command": ["train"], "env": [{"name": "NCCL_DEBUG", "value": "INFO"}],
             "resources": {"limits": {"nvidia.com/gpu": 4}}, "volumeMounts": [{"name": "data", "mountPath": "/fsx"}]},
        ],
    },
}  # fmt: skip


def test_the_users_own_job_gives_place_and_provisions() -> None:
    made = run(scope=Scope(namespace="train", nodes=2, template=LIKE, template_kind="v1/Pod"))
    spec = manifests.pod_spec(made)
    assert (spec["priorityClassName"], spec["schedulerName"], spec["serviceAccountName"]) == (
        "high",
        "volcano",
        "trainer",
    )
    assert spec["tolerations"] == LIKE["spec"]["tolerations"] and spec["imagePullSecrets"] == [{"name": "s"}]
    own = spec["containers"][0]
    assert len(spec["containers"]) == 1 and own["image"] == "a/b:1"  # the container with the accelerators
    assert own["command"][0] == "python3" and own["resources"]["limits"] == {"nvidia.com/gpu": 4}
    assert own["env"] == [{"name": "NCCL_DEBUG", "value": "INFO"}]
    assert {m["mountPath"] for m in own["volumeMounts"]} == {"/fsx", "/gonogo"}  # and its /dev/shm as it is
    assert made.spec.storage_paths == ["/fsx"] and "storage" in made.spec.steps
    job = manifests.job(made)
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team"
    assert job["spec"]["template"]["metadata"]["labels"]["app"] == "train"


@pytest.mark.parametrize("by", ["plan", "like"])
def test_a_job_of_a_queue_waits_to_be_admitted(by: str) -> None:
    label = {manifests.QUEUE_LABEL: "team"}
    plan = Plan(pod={"labels": label}) if by == "plan" else Plan()
    template = {"metadata": {"labels": label}, "spec": {"containers": [{"name": "a", "image": "a/b:1"}]}}
    made = run(plan, scope=Scope(namespace="train", nodes=2, template=template if by == "like" else None))
    assert made.queue == "team" and manifests.job(made)["metadata"]["labels"][manifests.QUEUE_LABEL] == "team"
    asked: list[tuple[str, bool]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        asked.append((body["kind"], bool(body["spec"].get("suspend")) if body["kind"] == "Job" else False))
        return httpx.Response(200, json={**body, "metadata": {**body["metadata"], "uid": "u"}})

    cluster = Cluster(httpx.Client(base_url="https://api", transport=httpx.MockTransport(answer)), "c", "train", 1)
    pods.start(cluster, made, b"archive")
    assert asked == [("Job", True), ("ConfigMap", False), ("Service", False)]
    asked.clear()
    pods.start(cluster, run(), b"archive")
    assert asked[-1] == ("Job", False)


@pytest.mark.parametrize("level", LEVELS)
def test_roles_have_exactly_the_verbs_that_are_asked_for(level: str) -> None:
    made = list(kube_access.manifests(kube_access.needs(level), level, "train"))  # type: ignore[arg-type]
    granted = {
        (verb, group, resource)
        for role in made
        if role["kind"] in ("Role", "ClusterRole")
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert granted == {(v, n.group, n.resource) for n in kube_access.needs(level) for v in n.verbs}  # type: ignore[arg-type]
    assert not any("*" in part or resource == "secrets" for _, part, resource in granted)
    assert ("create", "batch", "jobs") not in granted or level != "read"


@pytest.mark.parametrize("namespace", ["train", "default"])
def test_the_role_for_diagnosing_only_reads_and_is_what_is_needed(namespace: str) -> None:
    made = list(kube_access.manifests(kube_access.DIAGNOSE, "diagnose", namespace))
    roles = [m for m in made if m["kind"] in ("Role", "ClusterRole")]
    granted = {
        (verb, group, resource)
        for m in roles
        for rule in m["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert granted == {(v, n.group, n.resource) for n in kube_access.DIAGNOSE for v in n.verbs}
    assert {verb for verb, _, _ in granted} == {"get", "list"}
    assert [r for v, _, r in granted if v == "get"] == ["pods/log"]
    named = [(m["kind"], m["metadata"]["name"], m["metadata"].get("namespace")) for m in made]
    assert len(named) == len(set(named))  # none takes another's place, in the default namespace either


def test_what_is_kept_of_a_pod_has_no_environment() -> None:
    env = [{"name": "K", "value": "secret"}]
    raw = {"kind": "Pod", "metadata": {"name": "p", "managedFields": [{}], "annotations": {"big": "x" * 5000}},
           "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i", "env": env}]},
           "status": {"phase": "Running"}}  # fmt: skip
    kept = projected("Pod", json.dumps(raw).encode())
    assert b"secret" not in kept and b"managedFields" not in kept and len(kept) < 400
    assert json.loads(kept)["spec"]["nodeName"] == "n"


def test_what_is_kept_of_the_network_plugins_environment_is_its_settings() -> None:
    env = [{"name": "WARM_IP_TARGET", "value": "5"}, {"name": "API_KEY", "value": "hidden"},
           {"name": "MY_NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]  # fmt: skip
    template = {"spec": {"containers": [{"name": "aws-node", "image": "i", "env": env}]}}
    for name, kept in (("aws-node", [{"name": "WARM_IP_TARGET", "value": "5"}]), ("other", None)):
        raw = {"kind": "DaemonSet", "metadata": {"name": name}, "spec": {"template": template}}
        found = json.loads(projected("DaemonSet", json.dumps(raw).encode()))
        assert found["spec"]["template"]["spec"]["containers"][0].get("env") == kept


def status(**fields: Any) -> Dict:
    return {"metadata": {"name": "p-0-abc"}, "spec": {"nodeName": "node-0"}, "status": fields}


@pytest.mark.parametrize(
    ("item", "state", "reason"),
    [
        (status(conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]), "unscheduled",
         "Unschedulable"),
        (status(containerStatuses=[{"state": {"waiting": {"reason": "ContainerCreating"}}}]), "waiting", ""),
        (status(containerStatuses=[{"state": {"waiting": {"reason": "ErrImagePull"}}}]), "waiting", "ErrImagePull"),
        (status(containerStatuses=[{"state": {"running": {}}}]), "running", ""),
        (status(containerStatuses=[{"state": {"running": {}}}], conditions=[{"type": "Ready", "status": "Unknown"}]),
         "running", "NodeLost"),
        (status(containerStatuses=[{"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]), "ended",
         "OOMKilled"),
        (status(containerStatuses=[{"state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}]), "ended", ""),
        (status(phase="Failed", reason="UnexpectedAdmissionError", message="Allocate failed"), "ended",
         "UnexpectedAdmissionError"),
        ({"metadata": {"name": "p"}}, "waiting", ""),
    ],
)  # fmt: skip
def test_status_of_a_pod_in_one_word(item: Dict, state: str, reason: str) -> None:
    found = pod_start(item, 0, 1.0)
    assert (found.state, found.reason) == (state, reason)
