"""The user's own job as a pattern: which object of a manifest it is, what it says, and what is refused."""

import io
from pathlib import Path

import pytest
import yaml

from gonogo.agent.spec import STEPS
from gonogo.documents.kubernetes import Scope
from gonogo.errors import InputError
from gonogo.facts.kube_workload import design
from gonogo.launch import like, manifests
from gonogo.plan import Plan

GPUS = {"nvidia.com/gpu": 8}
TRAINER = {"spec": {"containers": [{"name": "t", "image": "a/b:1", "resources": {"limits": GPUS}}]}}
SERVER = {"spec": {"containers": [{"name": "etcd", "image": "etcd:3"}]}}
JOB_SET = {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": TRAINER}}}]}}


def manifest(folder: Path, *objects: dict) -> Path:
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump_all([{"apiVersion": "g/v1", "metadata": {"name": "j"}, **o} for o in objects]))
    return path


WORKERS = [{"replicas": 4, "template": TRAINER}]
KINDS = {
    "RayCluster": ({"headGroupSpec": {"template": SERVER}, "workerGroupSpecs": WORKERS}, 4),
    "RayJob": ({"rayClusterSpec": {"workerGroupSpecs": [{"replicas": 2, "template": TRAINER}]}}, 2),
    "LeaderWorkerSet": ({"replicas": 2, "leaderWorkerTemplate": {"size": 4, "workerTemplate": TRAINER}}, 8),
    "Job": ({"tasks": [{"replicas": 1, "template": SERVER}, {"replicas": 3, "template": TRAINER}]}, 3),
    "CronJob": ({"jobTemplate": {"spec": {"parallelism": 2, "template": TRAINER}}}, 2),
    "HyperPodPyTorchJob": ({"replicaSpecs": [{"name": "pods", "replicas": 4, "template": TRAINER}]}, 4),
    "DaemonSet": ({"template": TRAINER}, 0),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_other_operators_give_their_pods(kind, tmp_path):
    spec, pods = KINDS[kind]
    found = like.load(manifest(tmp_path, {"kind": kind, "spec": spec}))
    (container,) = found.template["spec"]["containers"]
    assert found.pods == pods and container.items() >= TRAINER["spec"]["containers"][0].items()


@pytest.mark.parametrize("first", [True, False])
def test_what_trains_is_taken_and_not_what_serves_it(first, tmp_path):
    server = {"kind": "Deployment", "spec": {"replicas": 1, "template": SERVER}}
    job = {"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": TRAINER}}}}
    found = like.load(manifest(tmp_path, *((server, job) if first else (job, server))))
    assert (found.kind, found.pods) == ("g/v1/PyTorchJob", 2)


def test_accelerators_say_more_than_the_kind(tmp_path):
    prepare = {"kind": "Job", "spec": {"template": SERVER}}
    train = {"kind": "StatefulSet", "spec": {"replicas": 2, "template": TRAINER}}
    assert like.load(manifest(tmp_path, prepare, train)).kind == "g/v1/StatefulSet"


def test_a_train_job_takes_its_pods_from_the_runtime_beside_it(tmp_path):
    runtime = {"kind": "ClusterTrainingRuntime", "metadata": {"name": "torch"},
               "spec": {"mlPolicy": {"numNodes": 3}, "template": JOB_SET}}  # fmt: skip
    job = {"kind": "TrainJob", "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"image": "c/d:2"},
           "podTemplateOverrides": [{"spec": {"nodeSelector": {"a": "b"}}}]}}  # fmt: skip
    found = like.load(manifest(tmp_path, runtime, job))
    (container,) = found.template["spec"]["containers"]
    assert found.pods == 3 and found.template["spec"]["nodeSelector"] == {"a": "b"}
    assert container == {"name": "t", "image": "c/d:2", "resources": {"limits": GPUS}}


def test_a_train_job_without_its_runtime_says_what_to_add(tmp_path):
    job = {"kind": "TrainJob", "spec": {"runtimeRef": {"name": "torch"}}}
    with pytest.raises(InputError, match="add that ClusterTrainingRuntime"):
        like.load(manifest(tmp_path, job))


UNFILLED = {
    "replicas": ("${NUM_NODES}", "NUM_NODES"),
    "image": ("${REGISTRY}/train:${TAG}", "REGISTRY"),
    "gpus": ("$GPU_PER_NODE", "GPU_PER_NODE"),
    "claim": ("<your claim>", "your claim"),
    "type": ("{{ .Values.type }}", "Values.type"),
}


@pytest.mark.parametrize("what", UNFILLED)
def test_what_is_still_to_be_filled_in_is_named_with_its_line(what, tmp_path):
    value, name = UNFILLED[what]

    def at(place, filled):
        return value if what == place else filled

    pod = {
        "nodeSelector": {"type": at("type", "p5.48xlarge")},
        "volumes": [{"name": "fsx", "persistentVolumeClaim": {"claimName": at("claim", "fsx")}}],
        "containers": [{"name": "t", "image": at("image", "a/b:1"), "args": ["--out=$OUT"],
                        "env": [{"name": "RANK", "value": "${RANK}"}],
                        "resources": {"limits": {"nvidia.com/gpu": at("gpus", 8)}}}],
    }  # fmt: skip
    worker = {"replicas": at("replicas", 2), "template": {"spec": pod}}
    path = manifest(tmp_path, {"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {"Worker": worker}}})
    with pytest.raises(InputError) as caught:
        like.load(path)
    said = str(caught.value)
    number = int(said.removeprefix(f"{path}:").partition(":")[0])
    assert name in said and value in path.read_text().splitlines()[number - 1] and "\n" not in said


def test_what_a_shell_in_the_pod_expands_is_its_own(tmp_path):
    pod = {"containers": [{"name": "t", "image": "a/b:1", "command": ["sh", "-c", "torchrun --nnodes=$NNODES"],
                           "env": [{"name": "A", "value": "$(B)"}]}]}  # fmt: skip
    assert like.load(manifest(tmp_path, {"kind": "Job", "spec": {"template": {"spec": pod}}})).pods == 1


def test_aliases_that_blow_up_are_one_line(tmp_path):
    path = tmp_path / "job.yaml"
    rows = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    path.write_text("\n".join(["a0: &a0 [x]", *rows, "kind: Job"]))
    with pytest.raises(InputError, match="holds more than"):
        like.load(path)


@pytest.mark.parametrize("spec", [{}, 3, {"template": {"spec": {"containers": []}}}])
def test_a_job_without_pods_is_told_from_a_kind_that_makes_none(tmp_path, spec):
    with pytest.raises(InputError, match=r"job\.yaml:2:7: the Job has no pod template with containers\.$"):
        like.load(manifest(tmp_path, {"kind": "Job", "spec": spec}))
    with pytest.raises(InputError, match=r":2:7: holds ConfigMap, of which no pods are known; expected one of"):
        like.load(manifest(tmp_path, {"kind": "ConfigMap"}))


ODD = [5, "x", "", [], {}, None, True, -1, 1e999, [1], {"a": 1}, 10**22, [[]], [None], "1e9"]
POD = {"containers": [{"name": "t", "image": "a/b:1", "env": [{"name": "A", "value": "1"}],
                       "resources": {"limits": GPUS}, "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
       "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}], "tolerations": [{"key": "k"}],
       "nodeSelector": {"a": "b"}, "securityContext": {"runAsUser": 0}, "affinity": {"nodeAffinity": {}}}  # fmt: skip


def places(value, at=()):
    yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*at, key))


def changed(value, at, odd):
    if not at:
        return odd
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = changed(value[at[0]], at[1:], odd)
    return copy


JOB = {"kind": "Job", "apiVersion": "batch/v1", "metadata": {"name": "j", "labels": {"a": "b"}},
       "spec": {"parallelism": 2, "completions": 2, "template": {"metadata": {"labels": {}}, "spec": POD}}}  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd)[:8])
def test_whatever_stands_anywhere_a_run_can_be_designed_or_one_line_says_why_not(odd, tmp_path):
    for at in places(JOB):
        path = tmp_path / "job.yaml"
        path.write_text(yaml.safe_dump(changed(JOB, at, odd)))
        try:
            found = like.load(path)
        except InputError as error:
            assert "\n" not in str(error)
            continue
        scope = Scope(template=found.template, nodes=min(found.pods, 4))
        asked = design(Plan(), scope, [], 2)
        run = manifests.design(asked, Plan(), run="r", level="quick", steps=STEPS, nodes=())
        assert yaml.safe_dump_all(manifests.objects(run, b""))


def test_bare_pods_are_one_job_and_of_several_jobs_the_first_is_named(tmp_path):
    pods = [{"kind": "Pod", "metadata": {"name": name}, "spec": TRAINER["spec"]} for name in ("a", "b")]
    assert (like.load(manifest(tmp_path, *pods)).pods, like.load(manifest(tmp_path, *pods)).remark) == (2, "")
    jobs = [{"kind": "Job", "metadata": {"name": name}, "spec": {"template": TRAINER}} for name in ("a", "b")]
    found = like.load(manifest(tmp_path, *jobs))
    assert (found.name, found.remark) == ("a", "Of the file's 2 Jobs a is taken, and not b.")


def test_what_an_app_wrapper_wraps_is_read(tmp_path):
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"parallelism": 3, "template": TRAINER}}
    found = like.load(manifest(tmp_path, {"kind": "AppWrapper", "spec": {"components": [{"template": job}]}}))
    assert (found.kind, found.pods) == ("batch/v1/Job", 3)


def test_a_runtime_alone_gives_its_pods_and_a_train_job_goes_before_another_runtime(tmp_path):
    runtime = {"kind": "TrainingRuntime", "metadata": {"name": "r"},
               "spec": {"mlPolicy": {"numNodes": 3}, "template": JOB_SET}}  # fmt: skip
    assert like.load(manifest(tmp_path, runtime)).pods == 3
    job = {"kind": "TrainJob", "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"image": "c/d:2", "numNodes": 2}}}
    found = like.load(manifest(tmp_path, runtime, job))
    assert (found.kind, found.pods) == ("g/v1/TrainJob", 2) and "runtime torch" in found.remark


def test_what_a_controller_wrote_into_a_dump_is_no_word_of_the_user(tmp_path):
    uid = {"controller-uid": "1", "batch.kubernetes.io/controller-uid": "1", "batch.kubernetes.io/job-name": "j"}
    template = {**TRAINER, "metadata": {"labels": {"app": "x", "job-name": "j", **uid}}}
    found = like.load(manifest(tmp_path, {"kind": "Job", "spec": {"parallelism": 2, "template": template}}))
    assert found.template["metadata"]["labels"] == {"app": "x"}
    assert found.added_labels == {"job-name": "j", **uid}


def test_mounts_of_claims_that_a_stateful_set_makes_are_left_out_and_named(tmp_path):
    container = {"name": "t", "image": "a:1", "volumeMounts": [{"name": "d", "mountPath": "/data"}]}
    spec = {"volumeClaimTemplates": [{"metadata": {"name": "d"}}], "template": {"spec": {"containers": [container]}}}
    found = like.load(manifest(tmp_path, {"kind": "StatefulSet", "spec": spec}))
    assert found.template["spec"]["containers"][0]["volumeMounts"] == []
    assert found.remark == "Not mounted, as the pod template has no volume for it: /data."


@pytest.mark.parametrize("kind", ["RayCluster", "Job"])
def test_ray_pods_have_the_shared_memory_that_kuberay_adds(kind, tmp_path):
    template = {"spec": {"containers": [{"name": "t", "image": "a:1", "resources": {"limits": {"memory": "8Gi"}}}]}}
    path = manifest(tmp_path, {"kind": kind, "spec": {"headGroupSpec": {"template": template}, "template": template}})
    spec = like.load(path).template["spec"]
    shared = [{"name": "shared-mem", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}]
    assert spec.get("volumes", []) == (shared if kind == "RayCluster" else [])


def test_a_manifest_is_read_from_stdin_and_so_called_there(tmp_path, monkeypatch):
    def piped(data):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        return like.load(Path("-"))

    job = {"kind": "Job", "spec": {"parallelism": 2, "template": TRAINER}}
    assert piped(manifest(tmp_path, job).read_bytes()).pods == 2
    with pytest.raises(InputError, match=r'^<stdin>:2:21: "\$N" still has to be filled in, such as by `envsubst`\.$'):
        piped(b"kind: Job\nspec: {parallelism: $N, template: {spec: {containers: [{name: t}]}}}\n")
    with pytest.raises(InputError, match=r"^<stdin>: is larger than 1 MiB; give the job's manifest alone\.$"):
        piped(b"#" * (1 << 21))
