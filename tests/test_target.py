"""Targets: what this machine is asked for, what a bundle tells, which kube context is left alone."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toys import registry

from gonogo import target
from gonogo.collect.local import MOST_RANKS, LocalTarget
from gonogo.documents.records import NodeLog, TrainLog
from gonogo.plan import Fabric, Job, Nodes, Plan
from gonogo.report.json import as_data
from gonogo.report.schema import SCHEMA
from gonogo.selection import select
from gonogo.verify import verify

KUBECONFIG = "apiVersion: v1\nclusters: []\ncurrent-context: '{}'\n"


def test_the_current_context_is_found_as_kubectl_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(KUBECONFIG.format(name))
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/none:{tmp_path}/binary:{tmp_path}/two:{tmp_path}/one")
    assert target.kube_context() == "two"
    (tmp_path / "large").write_text(KUBECONFIG.format("large") + "#" * target.MOST_BYTES)
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/none:/dev/zero:{tmp_path}/large:{tmp_path}")
    assert target.kube_context() == ""
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube/config").write_text(KUBECONFIG.format("home"))
    assert target.kube_context() == "home"


@pytest.mark.parametrize(("asked", "planned", "nodes"), [(None, None, 4), (None, 8, 8), (2, 8, 2), (None, 64, 16)])
def test_how_many_nodes(asked: int | None, planned: int | None, nodes: int) -> None:
    here = target.local(Plan(nodes=Nodes(count=planned)), nodes=asked, level="quick", run="r")
    assert here.info.summary == f"this machine, {nodes} nodes"
    assert bool(here.info.cannot_prove) == bool(planned and planned > nodes)


def test_what_this_machine_is_given_by_the_plan_it_does_not_prove() -> None:
    plan = Plan(fabric=Fabric(mtu=9001, interface="eth0"), nodes=Nodes(count=2, instance_type="p4d.24xlarge", gpus=8))
    assert target.local(plan, nodes=2, level="quick", run="r").info.cannot_prove == (
        "that the cluster's nodes have instance type p4d.24xlarge, 8 GPUs, MTU 9001, interface eth0, as the plan says",
    )


def test_the_bound_grows_with_what_is_wanted() -> None:
    here = target.local(Plan(), nodes=4, level="quick", run="r")
    assert 0 < here.bound_seconds(frozenset({NodeLog})) < here.bound_seconds(frozenset({NodeLog, TrainLog}))


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_KEYS = st.sampled_from(
    ["id", "level", "started", "ended", "bound_seconds", "interrupted", "kind", "summary", "seconds"]
)
_PARTS = _VALUES | st.dictionaries(_KEYS, _VALUES) | st.lists(st.dictionaries(_KEYS, _VALUES))


@given(st.dictionaries(st.sampled_from(["run", "target", "timings", "planes", "level"]), _PARTS))
def test_any_run_json_gives_a_target_that_can_be_reported(run: dict[str, object]) -> None:
    old = target.recorded(run, {}, (), "b")
    assert old.run
    known = registry()
    report = verify(old, Plan(), registry=known, selection=select(known, ("KUB001",)), run_id="r", level="quick")
    jsonschema.validate(as_data(report), SCHEMA)


def test_who_says_how_many_nodes_there_are_is_named() -> None:
    here = target.local(Plan(nodes=Nodes(count=64)), nodes=None, level="quick", run="r", source="the job")
    assert here.info.cannot_prove == ("that 64 nodes are there, as the job says",)


def test_what_the_job_does_beyond_a_run_is_not_proven_also_when_judged_again() -> None:
    left = ("8 ranks a node, as the job has them: gonogo starts one rank on each node",)
    info = target.local(Plan(), nodes=2, level="quick", run="r", untried=left).info
    assert [text.partition(" ")[0] for text in info.untried] == ["NCCL", "8"]
    old = target.recorded({"target": {"kind": "local", "untried": list(info.untried)}}, {}, (), "b")
    known = registry()
    report = verify(old, Plan(), registry=known, selection=select(known, ("KUB001",)), run_id="r", level="quick")
    told = {claim.text: claim.reason for claim in report.coverage.not_proven}
    assert told["8 ranks a node, as the job has them"] == "gonogo starts one rank on each node"
    assert told["NCCL and EFA"] == "the ranks on this machine use gloo, over TCP"


def test_this_machine_takes_so_many_ranks_and_says_how_many_it_tried() -> None:
    plan = Plan(job=Job(ranks_per_node=8))
    few = target.local(plan, nodes=16, level="quick", run="r")
    here = few.given[LocalTarget]
    assert isinstance(here, LocalTarget)
    each = here.ranks_per_node(plan)
    assert 16 * each <= here.most_ranks <= MOST_RANKS and here.spec(plan).ranks_per_node == each < 8
    (said, *_) = few.info.untried
    assert (
        said == f"8 ranks a node: this machine takes {here.most_ranks} ranks in all, so each of its 16 nodes had {each}"
    )
    alone = target.local(Plan(job=Job(ranks_per_node=2)), nodes=2, level="quick", run="r")
    assert alone.info.summary == "this machine, 2 nodes of 2 ranks"
    assert [text.partition(":")[0] for text in alone.info.untried] == ["NCCL and EFA"]
