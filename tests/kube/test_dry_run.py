"""`verify --dry-run=client` where no cluster can be asked: the objects as the plan and the job say."""

import pytest
import yaml

from gonogo.cli.app import run

PLAN = """\
apiVersion: gonogo/v1
kind: Plan
name: x
nodes: {count: 4, instanceType: p5.48xlarge}
"""
JOB = """\
kind: Job
apiVersion: batch/v1
metadata: {name: train, namespace: ml}
spec:
  parallelism: 3
  template: {spec: {containers: [{name: t, image: "a/b:1", resources: {limits: {nvidia.com/gpu: 8}}}]}}
"""


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "job.yaml").write_text(JOB)


def printed(capsys, *words):
    code = run(["verify", *words], "gonogo")
    said = capsys.readouterr()
    return code, {item["kind"]: item for item in yaml.safe_load_all(said.out) if item}, said.err


def test_a_plan_with_nodes_and_a_type_is_enough(capsys):
    code, found, said = printed(capsys, "--dry-run=client", "-o", "yaml", "-f", "plan.yaml")
    job = found["Job"]
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert code == 0 and set(found) == {"ConfigMap", "Service", "Job"} and job["spec"]["completions"] == 4
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"}
    assert "No way to a cluster" in said and "Pod Security" in said


def test_a_job_says_how_many_and_where(capsys):
    code, found, _ = printed(capsys, "--dry-run=client", "--like", "job.yaml")
    job = found["Job"]
    assert code == 0 and job["spec"]["completions"] == 3 and job["metadata"]["namespace"] == "ml"
    assert job["spec"]["template"]["spec"]["containers"][0]["image"] == "a/b:1"


@pytest.mark.parametrize(
    "words", [["client"], ["server", "-f", "plan.yaml"], ["client", "--context", "gone", "-f", "plan.yaml"]]
)
def test_who_asks_a_cluster_or_says_too_little_hears_what_is_missing(words, capsys):
    code, found, said = printed(capsys, f"--dry-run={words[0]}", *words[1:])
    assert code == 2 and not found and said.count("\n") == 1 and ("No way to a cluster" in said or "no context" in said)


def test_the_plans_count_goes_before_the_jobs_and_a_flag_before_both(capsys):
    _, found, said = printed(capsys, "--dry-run=client", "-f", "plan.yaml", "--like", "job.yaml")
    assert found["Job"]["spec"]["completions"] == 4 and "NCCL" in said
    _, found, _ = printed(capsys, "--dry-run=client", "-f", "plan.yaml", "--like", "job.yaml", "--nodes", "5")
    assert found["Job"]["spec"]["completions"] == 5


def test_secret_values_are_not_printed_and_their_names_are_told(capsys, tmp_path):
    job = yaml.safe_load(JOB)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    container["env"] = [{"name": "HF_TOKEN", "value": "hf_x1"}, {"name": "MODE", "value": "fast"}]
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    (tmp_path / "plan.yaml").write_text(f"{PLAN}job: {{environment: {{WANDB_API_KEY: 01ab23cd, NCCL_DEBUG: INFO}}}}\n")
    code, found, said = printed(capsys, "--dry-run=client", "-f", "plan.yaml", "--like", "job.yaml")
    text = yaml.safe_dump_all(found.values())
    assert code == 0 and "hf_x1" not in text and "01ab23cd" not in text
    assert "fast" in text and "INFO" in found["ConfigMap"]["data"]["spec.json"]
    assert "The values of HF_TOKEN, WANDB_API_KEY look secret" in said
