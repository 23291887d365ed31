"""Faults of a real cluster, each made for real: what the verdict is, which cause comes first, and on what evidence."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kube_verify import NO_FRAMEWORK, Outcome, Running, left, verify
from testbed import IMAGE, Bed


@contextmanager
def kubectl(bed: Bed, make: list[str], undo: list[str]) -> Iterator[None]:
    bed.kubectl(*make)
    try:
        yield
    finally:
        bed.kubectl(*undo, check=False)


@contextmanager
def on_node(bed: Bed, name: str, make: str, undo: str) -> Iterator[None]:
    bed.node(name, *make.split())
    try:
        yield
    finally:
        bed.node(name, *undo.split())


@contextmanager
def namespace(bed: Bed, *objects: dict[str, Any], enforce: str = "") -> Iterator[str]:
    """A new one with these objects, at a level of Pod Security."""
    name = f"gonogo-test-{secrets.token_hex(3)}"
    labels = {"pod-security.kubernetes.io/enforce": enforce} if enforce else {}
    bed.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    for item in objects:
        bed.apply({**item, "metadata": {**item["metadata"], "namespace": name}})
    try:
        yield name
    finally:
        bed.kubectl("delete", "namespace", name, "--wait=false", check=False)


@pytest.fixture(autouse=True)
def nothing_is_left(bed: Bed) -> Iterator[None]:
    yield
    assert left(bed) == ""


def fails(outcome: Outcome, cause: str) -> None:
    assert outcome.code == 1, (outcome.report.get("verdict"), outcome.stderr)
    assert outcome.verdict == "NO-GO"
    assert outcome.causes[:1] == [cause], (outcome.causes, outcome.messages("POD103"), outcome.stderr[-500:])
    assert outcome.report["diagnoses"][0]["evidence"]


def test_healthy_namespace_that_enforces_restricted_is_go_and_nothing_is_left(bed: Bed) -> None:
    """Where the most is forbidden; in a namespace that forbids nothing, the least role is shown to be enough."""
    with namespace(bed, enforce="restricted") as name:
        outcome = verify(bed, "-n", name)
    assert (outcome.verdict, outcome.code) == ("GO", 0), [
        f["message"] for f in outcome.report["findings"] if f["status"] in ("fail", "unknown")
    ]
    assert outcome.messages("KUB106", "ok").startswith("0 of 3 objects that the run made are left")


@pytest.mark.usefixtures("alone")
def test_ports_dropped_between_nodes(bed: Bed) -> None:
    drop = "FORWARD -p tcp --dport 20000:65000 -s 10.77.100.0/23 -d 10.77.100.0/23 -j DROP"
    with on_node(bed, "node-1", f"iptables -I {drop}", f"iptables -D {drop}"):
        outcome = verify(bed)
    fails(outcome, "network.port_blocked")
    assert outcome.of("NET001", "fail")
    found = outcome.report["diagnoses"][0]
    assert "kubectl" in found["commands"][0] and "debug node/node-0 -it" in found["commands"][0]
    assert not [c for c in found["commands"] if "iptables -I" in c]  # of pods that are gone
    assert "(there was gonogo-" in found["next_observation"]


@pytest.mark.usefixtures("alone")
def test_one_gpu_missing(bed: Bed) -> None:
    with allocatable(bed, "node-1", "nvidia.com/gpu", 7):
        outcome = verify(bed)
    fails(outcome, "gpu.fewer_than_type")
    assert "7 of 8 GPUs of node-1" in outcome.messages("GPU101", "fail")
    assert "too little free nvidia.com/gpu" in outcome.messages("POD103", "fail")


@pytest.mark.usefixtures("alone")
def test_efa_missing(bed: Bed) -> None:
    with allocatable(bed, "node-1", "vpc.amazonaws.com/efa", 0):
        outcome = verify(bed, level="read")
    fails(outcome, "efa.device_plugin_missing")


@pytest.mark.usefixtures("alone")
def test_untolerated_taint(bed: Bed) -> None:
    with kubectl(bed, ["taint", "node", "node-1", "team=other:NoSchedule"], ["taint", "node", "node-1", "team-"]):
        outcome = verify(bed)
    fails(outcome, "scheduling.missing_toleration")
    commands = [re.sub(r" --context \S+", "", c) for c in outcome.report["diagnoses"][0]["commands"]]
    assert "kubectl taint nodes node-1 team-" in commands
    assert outcome.seconds < 100


def test_too_few_nodes(bed: Bed) -> None:
    fails(verify(bed, "--nodes", "3", *NO_FRAMEWORK), "scheduling.too_few_nodes")


def test_claim_without_driver(bed: Bed, tmp_path: Path) -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"},
             "spec": {"storageClassName": "fsx", "accessModes": ["ReadWriteMany"], "resources": {"requests": {
                 "storage": "1Gi"}}}}  # fmt: skip
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fsx"},
            "provisioner": "fsx.csi.aws.com"}  # fmt: skip
    bed.apply(claim, kind)
    plan = tmp_path / "plan.yaml"
    plan.write_text("storage: [{path: /data, claim: data}]\n")
    try:
        outcome = verify(bed, "-f", str(plan))
    finally:
        bed.kubectl("delete", "pvc/data", "sc/fsx")
    fails(outcome, "storage.csi_driver_not_installed")


def test_unknown_image(bed: Bed) -> None:
    outcome = verify(bed, image="example.invalid/none:1")
    fails(outcome, "network.route_missing")
    assert "registry" in outcome.messages("POD103", "fail")


def test_image_that_may_not_be_pulled(bed: Bed, tmp_path: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [
        {"name": "a", "image": "gonogo/none:1", "imagePullPolicy": "Never"}]}}  # fmt: skip
    like = tmp_path / "pod.json"
    like.write_text(json.dumps(pod))
    outcome = verify(bed, "--like", str(like), "--nodes", "2", image="")
    fails(outcome, "image.not_found")


def test_memory_limit_too_small_for_a_rank(bed: Bed, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("pod: {resources: {limits: {memory: 96Mi, cpu: '1'}}}\n")
    outcome = verify(bed, "-f", str(plan))
    fails(outcome, "pod.oom_killed")


def test_small_shared_memory(bed: Bed, tmp_path: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"},
           "spec": {"containers": [{"name": "a", "image": IMAGE}]}}  # fmt: skip
    like = tmp_path / "pod.json"
    like.write_text(json.dumps(pod))
    outcome = verify(bed, "--like", str(like), "--nodes", "2", "--only", "node,pod", image="")
    assert "of 64 MiB of /dev/shm free" in outcome.messages("NOD003", "warn")


def test_resource_quota(bed: Bed) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team"},
             "spec": {"hard": {"requests.nvidia.com/gpu": "8"}}}  # fmt: skip
    with namespace(bed, quota) as name:
        outcome = verify(bed, "-n", name)
    fails(outcome, "kubernetes.quota_exceeded")
    assert "0 of 8 left" in outcome.messages("QUO101", "fail") or "8 of 8 left" in outcome.messages("QUO101", "fail")


def test_pod_security_refuses_host_network(bed: Bed, tmp_path: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"},
           "spec": {"hostNetwork": True, "containers": [{"name": "a", "image": IMAGE}]}}  # fmt: skip
    like = tmp_path / "pod.json"
    like.write_text(json.dumps(pod))
    with namespace(bed, enforce="baseline") as name:
        outcome = verify(bed, "-n", name, "--like", str(like), "--nodes", "2", image="")
    fails(outcome, "pod.security_rejected")
    assert "hostNetwork" in outcome.messages("POD101", "fail") + outcome.messages("POD102", "fail")


@pytest.mark.usefixtures("alone")
def test_admission_policy(bed: Bed) -> None:
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
              "metadata": {"name": "images"}, "spec": {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": [
                  {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]},
                  "validations": [{"expression": "object.spec.containers.all(c, c.image.startsWith('registry/'))",
                                   "message": "images must come from registry/"}]}}  # fmt: skip
    binding = {"apiVersion": policy["apiVersion"], "kind": "ValidatingAdmissionPolicyBinding",
              "metadata": {"name": "images"},
              "spec": {"policyName": "images", "validationActions": ["Deny"]}}  # fmt: skip
    bed.apply(policy, binding)
    try:
        outcome = wait_until_denied(bed)
    finally:
        bed.kubectl("delete", "validatingadmissionpolicybinding/images", "validatingadmissionpolicy/images")
    fails(outcome, "pod.security_rejected")
    assert "images must come from registry/" in outcome.messages("POD102", "fail")


@pytest.mark.usefixtures("alone")
def test_dns_down(bed: Bed) -> None:
    bed.kubectl("-n", "kube-system", "scale", "deployment/coredns", "--replicas=0")
    bed.kubectl(
        "-n", "kube-system", "wait", "--for=delete", "pod", "-l", "k8s-app=kube-dns", "--timeout=60s", check=False
    )
    try:
        outcome = verify(bed, "--only", "kubernetes,network,job", "--skip", "NET101")
    finally:
        bed.kubectl("-n", "kube-system", "scale", "deployment/coredns", "--replicas=2")
        bed.kubectl("-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=60s")
    fails(outcome, "kubernetes.dns_down")


def queued(tmp_path: Path) -> str:
    """A job of a queue, to be like."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": IMAGE}]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "labels": {
        "kueue.x-k8s.io/queue-name": "team"}}, "spec": {"parallelism": 2, "template": template}}  # fmt: skip
    path = tmp_path / "job.json"
    path.write_text(json.dumps(job))
    return str(path)


def test_queue_that_nobody_serves(bed: Bed, tmp_path: Path) -> None:
    outcome = verify(bed, "--like", queued(tmp_path), *NO_FRAMEWORK, image="")
    fails(outcome, "scheduling.queue_not_admitted")
    assert "queue team has not admitted the Job" in outcome.messages("POD103", "fail")


def test_queue_admits_the_job_and_it_runs(bed: Bed, tmp_path: Path) -> None:
    """What Kueue does to a Job that it admits is done here in its place."""
    run = Running(bed, tmp_path / "b", "--like", queued(tmp_path), *NO_FRAMEWORK)
    bed.kubectl("-n", "default", "wait", "--for=create", "job", "-l", "app.kubernetes.io/managed-by=gonogo",
                "--timeout=60s")  # fmt: skip
    job = bed.kubectl("-n", "default", "get", "jobs", "-l", "app.kubernetes.io/managed-by=gonogo", "-o", "name").strip()
    bed.kubectl("-n", "default", "wait", "--for=condition=Suspended", job, "--timeout=30s")
    bed.kubectl("-n", "default", "wait", "--for=create", "configmap", job.partition("/")[2], "--timeout=30s")
    bed.kubectl("-n", "default", "patch", job, "--type=merge", "-p", '{"spec":{"suspend":false}}')
    outcome = run.end()
    assert outcome.verdict == "GO", (outcome.causes, outcome.messages("POD103"))


@contextmanager
def allocatable(bed: Bed, name: str, resource: str, amount: int) -> Iterator[None]:
    """A node of the test cluster with another amount of a resource than its type has."""
    if not bed.ours:
        pytest.skip("only nodes of the test cluster are given other resources")
    path, note = "{.status.allocatable." + resource.replace(".", "\\.") + "}", f"testbed/{resource.replace('/', '_')}"
    usual = bed.kubectl("get", "node", name, "-o", f"jsonpath={path}")

    def becomes(amount: str, annotation: str) -> None:
        bed.kubectl("annotate", "node", name, annotation)
        now = {"status": {"capacity": {resource: amount}, "allocatable": {resource: amount}}}
        bed.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", json.dumps(now))
        bed.kubectl("wait", f"--for=jsonpath={path}={amount}", f"node/{name}", "--timeout=30s")

    becomes(str(amount), f"{note}={amount}")
    try:
        yield
    finally:
        becomes(usual, f"{note}-")


def wait_until_denied(bed: Bed) -> Outcome:
    """The API server takes a moment to compile a policy: asked by a dry run until it bites."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": "default"},
           "spec": {"containers": [{"name": "a", "image": "x"}]}}  # fmt: skip
    for _ in range(100):
        try:
            bed.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))
        except AssertionError:
            return verify(bed)
    raise AssertionError("the policy never took effect")
