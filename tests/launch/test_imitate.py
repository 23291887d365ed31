"""The user's job on this machine: its pods, variables, /dev/shm and limits, and what can't be had."""

import json
import subprocess
import sys

import pytest
import yaml

from gonogo.collect.local import LocalTarget
from gonogo.launch.imitate import imitate, limits, shm_bytes
from gonogo.launch.like import load
from gonogo.plan import Plan

MEMORY = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}}
MOUNT = {"name": "shm", "mountPath": "/dev/shm"}


@pytest.fixture
def like(tmp_path):
    """Imitates a job of three pods whose container and pod have these fields."""

    def make(plan=None, pods=3, pod=None, **container):
        spec = {"containers": [{"name": "train", **container}], **(pod or {})}
        job = {"completions": pods, "parallelism": pods, "template": {"spec": spec}}
        path = tmp_path / "job.yaml"
        path.write_text(
            yaml.safe_dump({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "t"}, "spec": job})
        )
        return imitate(plan or Plan(), load(path))

    return make


def env(**told):
    return [{"name": name, "value": value} for name, value in told.items()]


def test_its_variables_reach_the_ranks_and_secrets_do_not(like):
    found = like(env=[*env(GLOO_SOCKET_IFNAME="lo", NCCL_DEBUG="INFO", API_TOKEN="x"), {"name": "NCCL_ALGO"}])
    assert found.plan.job.environment == {"GLOO_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "INFO"}
    assert LocalTarget(nodes=3).spec(found.plan).environment == found.plan.job.environment


def test_the_plan_has_the_last_word(like):
    plan = Plan.model_validate(
        {"job": {"environment": {"GLOO_SOCKET_IFNAME": "eth0"}, "rendezvous_port": 1234}, "nodes": {"count": 2}}
    )
    found = like(plan, env=env(GLOO_SOCKET_IFNAME="lo", MASTER_PORT="23456")).plan
    assert found.job.environment == {"GLOO_SOCKET_IFNAME": "eth0"}
    assert (found.job.rendezvous_port, found.nodes.count) == (1234, 2)


def test_its_pods_and_its_port_are_taken(like):
    found = like(env=env(MASTER_PORT="23456")).plan
    assert (found.nodes.count, found.job.rendezvous_port) == (3, 23456)


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1", "10.77.0.1"])
def test_an_address_of_rank_0_means_the_same_here(like, address):
    assert like(env=env(MASTER_ADDR=address)).plan.job.environment == {"MASTER_ADDR": address}


@pytest.mark.parametrize(
    ("name", "value"),
    [("MASTER_ADDR", "train-0.train"), ("GLOO_SOCKET_IFNAME", "ens5"), ("NCCL_SOCKET_IFNAME", "^lo,ens")],
)
def test_what_only_the_cluster_has_is_not_proven_instead_of_missed(like, name, value):
    found = like(env=env(**{name: value}))
    assert not found.plan.job.environment
    assert any(value in text and name in text for text in found.missing)


def test_without_a_mount_a_container_has_little_shared_memory(like):
    assert shm_bytes(like().plan) == 64 << 20
    assert shm_bytes(Plan()) == 1 << 30


def test_a_mounted_one_is_as_large_as_it_says_or_as_the_memory(like):
    assert shm_bytes(like(volumeMounts=[MOUNT], pod={"volumes": [MEMORY]}).plan) == 2 << 30
    unlimited = {"volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}]}
    found = like(volumeMounts=[MOUNT], pod=unlimited, resources={"limits": {"memory": "3Gi"}}).plan
    assert shm_bytes(found) == 3 << 30
    assert shm_bytes(like(pod={"hostIPC": True}).plan) == 1 << 30


def test_limits_are_the_pods_as_far_as_this_machine_goes(like):
    assert limits(like(resources={"limits": {"cpu": "100m", "memory": "512Mi"}}).plan) == (0.1, 512 << 20)
    found = like(resources={"limits": {"cpu": 4096, "nvidia.com/gpu": 8}})
    assert limits(found.plan) == (0.0, 0)
    assert any("4096 CPUs" in text for text in found.missing) and any("8 nvidia.com/gpu" in t for t in found.missing)


def test_its_volumes_and_image_are_not_proven(like):
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    mount = {"name": "data", "mountPath": "/data"}
    found = like(image="registry/train:1", volumeMounts=[mount], pod={"volumes": [volume]})
    assert (
        "the job's volumes (/data)" in found.missing
        and "what the job's image holds (registry/train:1)" in found.missing
    )


def test_the_order_to_the_launcher_holds_them(like):
    plan = like(resources={"limits": {"cpu": "100m", "memory": "512Mi"}}).plan
    target = LocalTarget(nodes=3)
    fabric = json.loads(target.order(target.spec(plan), plan))["fabric"]
    assert (fabric["shm_bytes"], fabric["cpus"], fabric["memory_bytes"]) == (64 << 20, 0.1, 512 << 20)


@pytest.mark.fabric
def test_a_job_whose_gloo_uses_the_loopback_is_no_go_here(tmp_path):
    container = {"name": "train", "image": "train:1", "env": env(GLOO_SOCKET_IFNAME="lo")}
    job = {"parallelism": 3, "template": {"spec": {"containers": [container]}}}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump({"apiVersion": "batch/v1", "kind": "Job", "spec": job}))
    argv = ["verify", "--like", "job.yaml", "--level", "quick", "--only", "gloo,node", "-o", "json", "--bundle", "b"]
    done = subprocess.run(
        [sys.executable, "-m", "gonogo.cli", *argv], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    report = json.loads(done.stdout)
    assert (done.returncode, report["verdict"]) == (1, "NO-GO")
    assert [d["cause"] for d in report["diagnoses"]] == ["gloo.interface_wrong"]
    assert "3 nodes" in report["target"]["summary"]
    assert "what the job's image holds (train:1)" in report["target"]["cannot_prove"]
    (shm,) = {f["measured"] for f in report["findings"] if f["check"] == "NOD003"}
    assert shm == 64 << 20


def test_its_ranks_a_pod_are_those_of_each_node(like):
    torchrun = ["torchrun", "--nproc_per_node=2", "train.py"]
    assert like(command=torchrun).plan.job.ranks_per_node == 2
    assert like(command=["python", "train.py"]).plan.job.ranks_per_node == 1
    said = Plan.model_validate({"job": {"ranks_per_node": 3}})
    assert like(said, command=torchrun).plan.job.ranks_per_node == 3
    assert LocalTarget(nodes=3).spec(like(command=torchrun).plan).ranks_per_node == 2


def test_shared_memory_grows_with_the_ranks_where_nobody_says_its_size():
    assert shm_bytes(Plan(), 2) == shm_bytes(Plan()) == 1 << 30
    assert shm_bytes(Plan(), 16) == 2 << 30
    order = json.loads(LocalTarget(nodes=1).order(spec := LocalTarget(nodes=1).spec(Plan()), Plan()))
    assert order["fabric"]["shm_bytes"] == 1 << 30 and spec.ranks_per_node == 1
