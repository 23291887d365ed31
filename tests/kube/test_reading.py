"""Selectors, quantities, manifests of users and dumps of kubectl are read as Kubernetes means them."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from kube_world import healthy

from gonogo.documents import kubernetes as k
from gonogo.documents import replay
from gonogo.documents.kube_files import read
from gonogo.errors import InputError
from gonogo.facts.kube_nodes import cluster_nodes
from gonogo.facts.kube_pods import requests_of
from gonogo.facts.kube_quantity import quantity, shown
from gonogo.facts.kube_select import Taint, affinity_admits, matches, parse_selector, selects, tolerates
from gonogo.kernel import Lost
from gonogo.launch import like


@pytest.mark.parametrize(
    ("text", "value"),
    [("5Gi", 5 * 2**30), ("100m", 0.1), ("1152Gi", 1152 * 2**30), ("2", 2), ("1e3", 1000), ("1E", 1e18), (".5", 0.5),
     ("1k", 1000), ("129e6", 129e6), ("123Mi", 123 * 2**20), (8, 8)],
)  # fmt: skip
def test_quantities(text: object, value: float) -> None:
    assert quantity(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "five", "5GiB", "1.2.3", None, "--1"])
def test_what_is_no_quantity(text: object) -> None:
    with pytest.raises(ValueError):
        quantity(text)


@given(st.text(max_size=12))
def test_any_text_is_a_quantity_or_an_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        shown("memory", quantity(text))


@pytest.mark.parametrize(
    ("selector", "holds"),
    [("a=1", True), ("a==1,b!=2", True), ("a in (0, 1),!c", True), ("a notin (1)", False), ("c", False), ("a", True),
     ("a=2", False), ("", True), ("b", True)],
)  # fmt: skip
def test_selectors(selector: str, holds: bool) -> None:
    assert matches(parse_selector(selector), {"a": "1", "b": "3"}) is holds


@given(st.text(alphabet="ab=!,() in1", max_size=14))
def test_any_selector_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        matches(parse_selector(text), {"a": "1"})


def test_tolerations_by_kubernetes_rules() -> None:
    taint = Taint("gpu", "yes", "NoSchedule")
    assert tolerates([{"operator": "Exists"}], taint)
    assert tolerates([{"key": "gpu", "operator": "Exists"}], taint)
    assert tolerates([{"key": "gpu", "value": "yes", "effect": "NoSchedule"}], taint)
    assert not tolerates([{"key": "gpu", "value": "no"}], taint)
    assert not tolerates([{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}], taint)
    assert not tolerates([{"key": "other", "operator": "Exists"}], taint)


def test_absent_selector_selects_nothing_and_an_empty_one_all() -> None:
    assert not selects(None, {"a": "1"}) and selects({}, {"a": "1"})


def test_terms_of_an_affinity_are_alternatives() -> None:
    def term(value: str) -> dict[str, object]:
        return {"matchExpressions": [{"key": "t", "operator": "In", "values": [value]}]}

    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term("p4d"), term("p5")]}}
    spec = {"affinity": {"nodeAffinity": rule}}
    assert affinity_admits(spec, {"t": "p5"}, "n") and not affinity_admits(spec, {"t": "g5"}, "n")


def test_requests_count_sidecars_and_the_greatest_start() -> None:
    def container(cpu: str, **more: str) -> dict[str, object]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("1"), container("2")],
        "initContainers": [container("1", restartPolicy="Always"), container("8")],
    }
    assert requests_of(spec)["cpu"] == 9
    assert requests_of({"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}]}) == {"nvidia.com/gpu": 8}


TEMPLATE = {"spec": {"containers": [{"name": "t", "image": "a/b:1", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}
MANIFESTS = {
    "Job": ({"completions": 4, "parallelism": 4, "template": TEMPLATE}, 4),
    "JobSet": ({"replicatedJobs": [{"name": "w", "replicas": 2, "template": {"spec": {
        "parallelism": 3, "template": TEMPLATE}}}]}, 6),
    "PyTorchJob": ({"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": TEMPLATE},
                                            "Worker": {"replicas": 7, "template": TEMPLATE}}}, 8),
    "MPIJob": ({"mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": {}},
                                    "Worker": {"replicas": 2, "template": TEMPLATE}}}, 2),
    "StatefulSet": ({"replicas": 3, "template": TEMPLATE}, 3),
    "TrainJob": ({"trainer": {"numNodes": 5, "image": "a/b:1", "resourcesPerNode": {
        "limits": {"nvidia.com/gpu": 8}}}}, 5),
}  # fmt: skip


@pytest.mark.parametrize("kind", MANIFESTS)
def test_pattern_of_every_kind(kind: str, tmp_path: Path) -> None:
    spec, pods = MANIFESTS[kind]
    path = tmp_path / "job.yaml"
    head = yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})
    job = {"apiVersion": "g/v1", "kind": kind, "metadata": {"name": "j", "namespace": "n"}, "spec": spec}
    path.write_text(head + "---\n" + yaml.safe_dump(job))
    found = like.load(path)
    assert (found.kind, found.namespace, found.pods) == (f"g/v1/{kind}", "n", pods)
    container = found.template["spec"]["containers"][0]
    assert (container["image"], container["resources"]["limits"]) == ("a/b:1", {"nvidia.com/gpu": 8})


@pytest.mark.parametrize(
    "text", ["", "a: [", "kind: Service\nmetadata: {name: x}", "\x00", "kind: Job\nspec: 3", "- 1"]
)
def test_manifests_without_pods_are_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        like.load(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.parametrize("form", ["list json", "list yaml", "single yaml", "documents yaml", "own lines"])
def test_dumps_of_kubectl_give_the_same_facts(form: str, tmp_path: Path) -> None:
    nodes = [o for o in healthy().objects if o["kind"] == "Node"]
    listing = {"apiVersion": "v1", "kind": "List", "items": nodes}
    lines = k.NodeObjects.head() + b"\n" + b",\n".join(json.dumps(n).encode() for n in nodes) + b"\n" + k.FOOT
    files = {
        "list json": {"n.json": json.dumps(listing, indent=2).encode()},
        "list yaml": {"n.yaml": yaml.safe_dump(listing).encode()},
        "single yaml": {f"{i}.yml": yaml.safe_dump(n).encode() for i, n in enumerate(nodes)},
        "documents yaml": {"n.yaml": yaml.safe_dump_all(nodes).encode()},
        "own lines": {"kubernetes/nodes.json": lines},
    }[form]
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    found = replay.read(tmp_path).logs[k.NodeObjects]
    assert isinstance(found, k.NodeObjects)
    assert [n.name for n in cluster_nodes(found).nodes] == ["node-0", "node-1"]
    assert [n.allocatable["nvidia.com/gpu"] for n in cluster_nodes(found).nodes] == [8, 8]
    assert all(n.line > 0 for n in cluster_nodes(found).nodes)
    assert isinstance(replay.read(tmp_path).logs[k.PodObjects], Lost)


def test_own_lines_that_are_cut_off_give_what_they_hold(tmp_path: Path) -> None:
    nodes = [o for o in healthy().objects if o["kind"] == "Node"]
    whole = k.NodeObjects.head() + b"\n" + b",\n".join(json.dumps(n).encode() for n in nodes)
    objects = list(read("kubernetes/nodes.json", whole[:-40]))
    assert [o.name for o in objects] == ["node-0"]


@given(st.binary(max_size=200))
def test_any_file_is_read_without_a_crash(data: bytes) -> None:
    list(read("x.yaml", data))
    list(read("x.json", b'{"items":[\n' + data))
