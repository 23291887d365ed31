"""Two ranks on each node, and each check of ranks seen to fail on one of them: the node and the rank are both named."""

import faulty
import pytest

from gonogo.model import Status, Subject, node
from gonogo.plan import Plan

pytestmark = pytest.mark.fabric
ONLY = ("job", "collective", "train", "node")
VICTIM = Subject("rank", "node1/3")  # the last of four ranks on two nodes


def two_ranks(**environment):
    return Plan.model_validate({"job": {"ranks_per_node": 2, "environment": environment}})


def run(scenario, tmp_path, plan=None, only=ONLY, **more):
    return faulty.run(scenario, tmp_path / "bundle", nodes=2, plan=plan or two_ranks(), only=only, **more)


def failed(report, check):
    return {f.subject for f in report.findings if f.check == check and f.status is Status.FAIL}


def assert_first(report, cause, words, subject=VICTIM):
    """One root: of that node, with its rank by name, evidence that is there, and nothing left over."""
    (first,) = report.diagnoses
    assert (first.cause, first.subjects) == (cause, (node("node1"),)), faulty.summary(report)
    assert words in first.summary, first.summary
    assert any("node1 rank 3" in e.text for e in first.evidence), first.evidence
    explained = {key for d in report.diagnoses for key in d.explains}
    assert [f for f in report.findings if f.status is Status.FAIL and f.key not in explained] == []


def test_two_ranks_a_node_are_four_ranks(tmp_path):
    report = faulty.run("healthy", tmp_path / "bundle", nodes=2, plan=two_ranks())
    assert report.verdict == "GO", faulty.summary(report)
    assert {"4 of 4 ranks", "2 of 2 nodes"} <= {claim.text for claim in report.coverage.proven}
    assert "2 nodes of 2 ranks" in report.target.summary
    assert not any("ranks a node" in claim.text for claim in report.coverage.not_proven)
    joined = {f.subject.name: f.message for f in report.findings if f.check == "COL001"}
    assert set(joined) == {"node0/0", "node0/1", "node1/2", "node1/3"}
    assert "node1 rank 3 joined as rank 3 of 4 (local rank 1 of 2)" in joined["node1/3"]
    (busbw, *_) = [f for f in report.figures if f.name == "busbw"]
    assert busbw.at["ranks"] == 4
    storage = {f.subject for f in report.findings if f.check == "STO001"}
    assert storage == {node("node0"), node("node1")}  # what looks at the node looks once
    again = faulty.again(tmp_path / "bundle")
    assert [(f.check, f.subject, f.status, f.message) for f in again.findings] == [
        (f.check, f.subject, f.status, f.message) for f in report.findings
    ]


def test_one_rank_killed(tmp_path):
    report = run("one-rank-killed", tmp_path)
    assert_first(report, "job.rank_died", "Rank 3 of collectives on node1 was killed by signal 9 (SIGKILL)")
    assert failed(report, "JOB001") == {node("node1")}
    assert VICTIM in failed(report, "COL002") and VICTIM in failed(report, "TRN001")


@pytest.mark.soak
def test_one_rank_frozen(tmp_path):
    report = run("one-rank-frozen", tmp_path)
    assert_first(report, "job.rank_stalled", "its rank 3 was ended in all_reduce")
    assert failed(report, "JOB002") == {node("node1")}


def test_one_rank_late(tmp_path):
    report = run("one-rank-late", tmp_path)
    assert_first(report, "node.straggler", "node1 rank 3 is slower than the others: in each step it takes")
    assert failed(report, "TRN006") == {VICTIM}


def test_one_rank_whose_data_are_wrong(tmp_path):
    report = run("one-rank-wrong", tmp_path, only=("collective",))
    assert_first(report, "collective.wrong_result", "the wrong data come from node1 rank 3")
    assert VICTIM in failed(report, "COL003")


def test_one_rank_with_fewer_batches(tmp_path):
    report = run("one-rank-with-fewer-batches", tmp_path)
    assert_first(report, "job.collective_mismatch_uneven_batches", "The data of node1 rank 3 ended too early")
    assert failed(report, "JOB003") == {node("node1")}


def test_one_rank_that_never_comes(tmp_path):
    report = run("one-rank-missing", tmp_path, only=("collective",))
    told = {f.subject: f.message for f in report.findings if f.check == "COL001" and f.status is Status.FAIL}
    assert set(told) == {Subject("rank", f"node{i // 2}/{i}") for i in range(4)}
    assert "3 of 4 ranks came to the store" in told[Subject("rank", "node0/0")]
    assert "missing: node1 rank 3" in told[Subject("rank", "node0/0")]


@pytest.mark.parametrize(
    ("told", "subjects", "words"),
    [
        ({"WORLD_SIZE": "3"}, {f"node{i // 2}/{i}" for i in range(4)}, "joined as rank 0 of 3"),
        ({"RANK": "0"}, {f"node{i // 2}/{i}" for i in range(4)}, "has the same RANK"),
        ({"LOCAL_RANK": "0"}, {"node0/1", "node1/3"}, "joined as rank 1 of 4 (local rank 0)"),
    ],
)
def test_ranks_that_are_told_to_be_others(told, subjects, words, tmp_path):
    report = run("healthy", tmp_path, two_ranks(**told), only=("JOB004", "collective"))
    assert {s.name for s in failed(report, "COL001")} == subjects, faulty.summary(report)
    (first,) = report.diagnoses
    assert (first.cause, set(first.subjects)) == ("job.world_size_mismatch", {node("node0"), node("node1")})
    assert words in first.summary
    assert {f.key for f in report.findings if f.status is Status.FAIL} <= set(first.explains)


def test_shared_memory_that_holds_the_loaders_of_one_rank_and_not_of_two(tmp_path):
    size = 112 << 20
    one = faulty.run("healthy", tmp_path / "one", nodes=2, only=ONLY, shm_bytes=size)
    assert one.verdict == "GO", faulty.summary(one)
    two = run("healthy", tmp_path, shm_bytes=size)
    (first,) = two.diagnoses
    assert first.cause == "pod.shm_too_small", faulty.summary(two)
    assert set(first.subjects) <= {node("node0"), node("node1")}
    assert any(" rank " in e.text and "shared memory" in e.text for e in first.evidence)
    assert {f.status for f in two.findings if f.check == "NOD003"} == {Status.WARN}
