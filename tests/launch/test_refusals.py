"""A file that can't be the job to be like: what it is instead, where that shows, and what to give."""

import pytest

from gonogo.errors import InputError
from gonogo.launch.like import load

JOB = "apiVersion: batch/v1\nkind: Job\nspec:\n  template:\n    spec:\n      containers:\n"


def refused(folder, text, name="job.yaml"):
    path = folder / name
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load(path)
    said = str(caught.value)
    assert said.startswith(str(path)) and "\n" not in said
    return said.removeprefix(str(path)).replace(str(folder), "DIR")


NO_MANIFESTS = {
    "helm": (
        "kind: Job\n{{- if .Values.gpu }}\nspec: {}\n{{- end }}\n",
        ':2:1: "{{- if .Values.gpu }}" is a template\'s, and no YAML yet: give what `helm template` makes of the file.',
    ),
    "jinja": ("kind: Job\n{% if gpu %}\nspec: {}\n{% endif %}\n", "give what Jinja makes of the file."),
    "envsubst": ("kind: Job\nspec: {env: ${WHO}}\n", '"${WHO}" still has to be filled in, such as by `envsubst < '),
    "a whole line": (
        "spec:\n  a: 1\n${MORE}\n  b: 2\n",
        '"${MORE}" still has to be filled in, such as by `envsubst < ',
    ),
    "terraform": ("kind: Job\n%{ if gpu }\nspec: {}\n%{ endif }\n", "give what Terraform makes of the file."),
    "tab": ("kind: Job\nspec:\n\ttemplate: {}\n", "YAML indents with spaces, and here is a tab."),
    "slurm": ("#!/bin/bash\n#SBATCH --nodes=4\nsrun train\n", ": is a script for Slurm; expected a Kubernetes"),
    "shell": ("#!/bin/sh\nif [ -f x ]; then\n  torchrun train.py\nfi\n", ": is a script; expected a Kubernetes"),
    "eksctl": ("apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\n", ":2:7: the ClusterConfig is eksctl's"),
    "plan": ("kind: Plan\nname: x\n", ":1:7: a plan is given with -f, and a job with --like."),
    "values": ("replicas: 2\n", ": is part of a Helm chart: give what `helm template DIR` prints."),
    "kustomization": ("resources: [job.yaml]\n", ": is Kustomize's: give what `kubectl kustomize DIR` prints."),
    "misspelt": ("kind: PytorchJob\nspec: {}\n", 'Did you mean "PyTorchJob"?'),
}


@pytest.mark.parametrize("what", NO_MANIFESTS)
def test_what_is_no_job_is_told_with_what_to_give_instead(what, tmp_path):
    text, told = NO_MANIFESTS[what]
    names = {"values": "values.yaml", "kustomization": "kustomization.yaml"}
    assert told in refused(tmp_path, text, names.get(what, "job.yaml"))


def test_a_kind_that_resembles_none_has_no_suggestion(tmp_path):
    for kind in ("MarsJob", "Service"):
        assert "Did you mean" not in refused(tmp_path, f"kind: {kind}\nspec: {{}}\n")


def test_the_place_is_where_it_decides_and_not_where_a_comment_or_command_says_the_same(tmp_path):
    pod = '      - name: t\n        args: ["${TAG}"]\n        image: ${TAG}\n'
    assert refused(tmp_path, f"# ${{TAG}}\n{JOB}{pod}").startswith(':10:16: "${TAG}" still has to be filled in')


@pytest.mark.parametrize("image", ["IMAGE_HERE", "MY_REGISTRY/train:1", "a/b:{TAG}", "a/B:1", "a/b: 1", ""])
def test_an_image_that_no_registry_can_have_is_still_to_be_named(image, tmp_path):
    assert refused(tmp_path, f"{JOB}      - name: t\n        image: '{image}'\n").startswith(":8:16: ")


@pytest.mark.parametrize(
    "image", ["a", "a/b:1", "localhost:5000/a__b/c-d.e:V1", "1.dkr.ecr.us-east-1.amazonaws.com/x@sha256:" + "a" * 64]
)
def test_an_image_that_a_registry_can_have_is_taken(image, tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(f"{JOB}      - name: t\n        image: {image}\n")
    assert load(path).template["spec"]["containers"][0]["image"] == image


def test_what_the_api_would_not_take_has_its_line(tmp_path):
    pod = "      - name: t\n        env:\n        - {name: D, value: 2024-01-01}\n"
    said = refused(tmp_path, JOB + pod)
    assert said == ':9:28: spec.containers.0.env.0.value of the pod template is "2024-01-01"; expected text.'


def test_a_job_of_an_unknown_operator_is_not_passed_over_for_what_serves_it(tmp_path):
    pod = "{spec: {containers: [{name: t, image: a}]}}"
    server = f"kind: Deployment\nspec: {{template: {pod}}}\n---\n"
    assert ":4:7: holds ElasticJob, of" in refused(tmp_path, f"{server}kind: ElasticJob\nspec: {{worker: {pod}}}\n")


def test_a_ray_job_on_a_cluster_that_is_there_says_whose_manifest_to_give(tmp_path):
    said = refused(tmp_path, "kind: RayJob\nspec: {clusterSelector: {ray.io/cluster: c}}\n")
    assert "give that RayCluster's manifest" in said


def test_a_train_job_names_the_command_that_prints_its_runtime(tmp_path):
    text = "kind: TrainJob\nspec: {runtimeRef: {kind: TrainingRuntime, name: big}, trainer: {numNodes: 2}}\n"
    assert "`kubectl get trainingruntime big -o yaml`" in refused(tmp_path, text)
