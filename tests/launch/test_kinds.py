"""Of the pods that an object makes, those that train: how many, of which template."""

import pytest

from gonogo.launch.kinds import KINDS

GPUS = {"limits": {"nvidia.com/gpu": 8}}


def pods(name, **container):
    return {"spec": {"containers": [{"name": name, "image": "a:1", **container}]}}


def read(kind, spec):
    count, template = KINDS[kind](spec)
    return count, [c["name"] for c in template["spec"]["containers"]]


def task(name, replicas, **container):
    return {"name": name, "replicas": replicas, "template": pods(name, **container)}


def job(name, parallelism, **more):
    return {"name": name, "template": {"spec": {"parallelism": parallelism, "template": pods(name)}}, **more}


def workers(name, replicas, **more):
    container = {"resources": GPUS} if name.startswith("gpu") else {}
    return {"groupName": name, "replicas": replicas, "template": pods(name, **container), **more}


HEAD = {"headGroupSpec": {"template": pods("head")}}
GPU_HEAD = {"headGroupSpec": {"template": pods("head", resources=GPUS)}}
JOBS = {
    "those with accelerators": ("Job", {"tasks": [task("data", 9), task("gpu", 2, resources=GPUS)]}, (2, ["gpu"])),
    "a parameter server": ("Job", {"tasks": [task("ps", 3), task("worker", 2)]}, (2, ["worker"])),
    "who only runs mpirun": (
        "Job", {"tasks": [task("main", 1, command=["sh", "-c", "mpirun -np 4 x"]), task("node", 4)]}, (4, ["node"]),
    ),
    "a single task, whatever its name": ("Job", {"tasks": [task("launcher", 1)]}, (1, ["launcher"])),
    "Volcano's own CronJob": ("CronJob", {"jobTemplate": {"spec": {"tasks": [task("w", 2)]}}}, (2, ["w"])),
    "jobs that run at once": (
        "JobSet",
        {"replicatedJobs": [job("data", 9), job("w", 4, dependsOn=[{"name": "data", "status": "Complete"}])]},
        (4, ["w"]),
    ),
    "jobs that wait for each other to be ready": (
        "JobSet",
        {"replicatedJobs": [job("a", 1), job("b", 4, dependsOn=[{"name": "a", "status": "Ready"}])]},
        (5, ["b"]),
    ),
    "ray's workers": ("RayJob", {"rayClusterSpec": {**HEAD, "workerGroupSpecs": [workers("w", 3)]}}, (3, ["w"])),
    "ray's group with accelerators": (
        "RayCluster", {**HEAD, "workerGroupSpecs": [workers("cpu", 5), workers("gpu", 2)]}, (2, ["gpu"]),
    ),
    "a head with accelerators": ("RayCluster", {**GPU_HEAD, "workerGroupSpecs": [workers("gpu", 3)]}, (4, ["gpu"])),
    "a head alone": ("RayService", {"rayClusterConfig": HEAD}, (1, ["head"])),
    "several hosts a replica": (
        "RayCluster", {**HEAD, "workerGroupSpecs": [workers("w", 2, numOfHosts=4)]}, (8, ["w"]),
    ),
    "what an autoscaler may not go below": (
        "RayCluster", {**HEAD, "workerGroupSpecs": [workers("w", 0, minReplicas=2)]}, (2, ["w"]),
    ),
    "a launcher that works": (
        "MPIJob",
        {"runLauncherAsWorker": True, "mpiReplicaSpecs": {"Launcher": task("l", 1), "Worker": task("w", 2)}},
        (3, ["w"]),
    ),
    "a launcher alone": ("MPIJob", {"mpiReplicaSpecs": {"Launcher": task("l", 1)}}, (1, ["l"])),
    "roles in small letters": ("PyTorchJob", {"pytorchReplicaSpecs": {"worker": task("w", 2)}}, (2, ["w"])),
}  # fmt: skip


@pytest.mark.parametrize("what", JOBS)
def test_only_what_trains_is_counted(what):
    kind, spec, expected = JOBS[what]
    assert read(kind, spec) == expected


def runtime(*jobs, **more):
    return {"template": {"spec": {"replicatedJobs": list(jobs)}}, **more}


def test_a_runtime_trains_in_its_job_node_whatever_else_it_runs():
    data = {"name": "dataset-initializer", "template": {"spec": {"parallelism": 5, "template": pods("download")}}}
    assert read("ClusterTrainingRuntime", runtime(data, job("node", 1), mlPolicy={"numNodes": 3})) == (3, ["node"])


def of_train_job(**spec):
    own = runtime({"name": "node", "template": {"spec": {"template": pods("node", env=[{"name": "A", "value": "0"}])}}})
    return KINDS["TrainJob"]({"runtime": own, **spec})[1]["spec"]


def test_a_trainers_variables_are_added_to_its_runtimes():
    spec = of_train_job(trainer={"env": [{"name": "B", "value": "1"}, {"name": "A", "value": "2"}]})
    assert {e["name"]: e["value"] for e in spec["containers"][0]["env"]} == {"A": "2", "B": "1"}


def patch(name, spec):
    return {"trainingRuntimeSpec": runtime({"name": name, "template": {"spec": {"template": {"spec": spec}}}})}


def test_what_a_train_job_says_of_its_pods_is_taken_from_all_three_forms_and_for_its_nodes_only():
    spec = of_train_job(
        podSpecOverrides=[{"targetJobs": [{"name": "node"}], "serviceAccountName": "s"}],
        podTemplateOverrides=[{"targetJobs": [{"name": "launcher"}], "spec": {"nodeSelector": {"a": "other"}}}],
        runtimePatches=[patch("node", {"nodeSelector": {"a": "b"}}), patch("launcher", {"tolerations": [{}]})],
    )
    assert (spec["serviceAccountName"], spec["nodeSelector"]) == ("s", {"a": "b"})
    assert set(spec) == {"containers", "serviceAccountName", "nodeSelector"}
