"""What a job does and a run doesn't is said: ranks a node, NCCL, EFA, the other pod templates."""

import pytest
import yaml

from gonogo.launch.like import load
from gonogo.launch.untried import untried
from gonogo.plan import Plan

GPUS = {"limits": {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 4}}


def plan(**fields):
    return Plan.model_validate(fields, by_alias=True)


@pytest.fixture
def job(tmp_path):
    """The pattern of a PyTorchJob whose master's and worker's containers have these fields."""

    def make(worker, master=None, **spec):
        def role(container, replicas):
            pod = {"containers": [{"name": "t", "image": "a:1", **container}]}
            return {"replicas": replicas, "template": {"spec": pod}}

        roles = {"Worker": role(worker, 2)} | ({"Master": role(master, 1)} if master is not None else {})
        item = {"kind": "PyTorchJob", "metadata": {"name": "llama"}, "spec": {"pytorchReplicaSpecs": roles, **spec}}
        path = tmp_path / "job.yaml"
        path.write_text(yaml.safe_dump({"apiVersion": "kubeflow.org/v1", **item}))
        return load(path)

    return make


def test_a_job_of_cpus_leaves_nothing(job):
    assert untried(Plan()) == () == untried(Plan(), job({}))


def test_ranks_of_the_plan_go_before_those_of_the_job(job):
    like = job({}, nprocPerNode="8")
    assert [text[:30] for text in untried(Plan(), like)] == ["8 ranks a node, as the job has"]
    assert "4 ranks a node, as the plan has" in untried(plan(job={"ranksPerNode": 4}), like)[0]
    assert untried(plan(job={"ranksPerNode": 1}), like) == ()


@pytest.mark.parametrize(
    ("container", "spec", "ranks"),
    [
        ({"command": ["torchrun", "--nproc_per_node=4", "train.py"]}, {}, 4),
        ({"command": ["bash", "-c"], "args": ["torchrun --nproc-per-node 6 t.py"]}, {}, 6),
        ({"env": [{"name": "PET_NPROC_PER_NODE", "value": "3"}]}, {}, 3),
        ({"command": ["torchrun", "--nproc-per-node", "gpu", "t.py"], "resources": GPUS}, {}, 8),
        ({"resources": GPUS}, {"nprocPerNode": "auto"}, 8),
        ({"command": ["torchrun", "--nproc-per-node", "$GPUS", "t.py"]}, {}, 0),
        ({"command": ["python", "train.py"]}, {"nprocPerNode": "cpu"}, 0),
    ],
)
def test_how_many_ranks_a_pod_has(container, spec, ranks, job):
    assert job(container, **spec).ranks == ranks


def test_gloo_in_place_of_nccl_and_efa_is_said(job):
    left = untried(Plan(), job({"resources": GPUS, "env": [{"name": "NCCL_DEBUG", "value": "INFO"}]}))
    assert [text.partition(",")[0] for text in left] == ["NCCL", "EFA"] and "8 nvidia.com/gpu" in left[0]
    by_plan = plan(nodes={"gpus": 8, "efa": 32}, job={"backend": "nccl"})
    assert [text.partition(",")[0] for text in untried(by_plan)] == ["EFA"]


def test_which_of_two_templates_is_taken_is_said_where_they_differ(job):
    same = job({"env": []}, {"env": []})
    other = job({}, {"env": [{"name": "A", "value": "b"}], "volumeMounts": [{"name": "x", "mountPath": "/x"}]})
    assert same.remark == ""
    assert other.remark == (
        "Of PyTorchJob llama the pod template of Worker is taken; that of Master differs in env, volumeMounts."
    )
    assert untried(Plan(), other) == (other.remark.rstrip("."),)


def test_ranks_that_a_run_starts_are_not_left(job):
    like = job({}, nprocPerNode="8")
    assert untried(Plan(), like, has_ranks=True) == () == untried(plan(job={"ranksPerNode": 4}), has_ranks=True)
