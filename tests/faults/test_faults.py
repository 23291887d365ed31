"""Each fault injected for real into a fabric of processes: verdict, first cause, who it is, and cited evidence."""

import time
from pathlib import Path

import faulty
import pytest

from gonogo.model import Status, link, node
from gonogo.plan import Plan
from gonogo.report.verdict import next_step

pytestmark = pytest.mark.fabric
NODES = 3
ALL = {node(f"node{i}") for i in range(NODES)}
LAST = {node("node2")}

FAULTS = {
    # scenario -> first cause, subjects, words of the summary, words of the evidence, checks that it explains
    "all-ports-dropped": ("network.port_blocked", ALL, "are dropped between all 3 nodes", "no answer", "NET001 NET002"),
    "rendezvous-port-dropped": (
        "network.port_blocked",
        ALL,
        "Port 29500 is dropped",
        "port 29500: no answer",
        "NET001",
    ),
    "rendezvous-port-rejected": ("network.port_blocked", ALL, "Port 29500 is rejected", "refused", "NET001"),
    "inbound-dropped": ("network.one_way_blocked", LAST, "into node2", "node2 port 35017: no answer", "NET001 NET002"),
    "inbound-prohibited": ("network.one_way_blocked", LAST, "are rejected", "unreachable after", "NET001 NET002"),
    "outbound-dropped": ("network.one_way_blocked", LAST, "out of node2", "node2 -> node0", "NET001 NET002"),
    "node-slow": ("network.link_slow", LAST, "node2, in both directions", "Gbit/s", "LNK002"),
    "mtu-black-hole": ("network.mtu_mismatch", LAST, "up to 1400 bytes pass", "8000 bytes not acknow", "LNK001 COL002"),
    "rank-killed": ("job.rank_died", LAST, "signal 9 (SIGKILL) in all_reduce", "signal 9", "JOB001 COL002"),
    "node-killed": ("job.rank_died", LAST, "signal 9 (SIGKILL)", "killed by signal 9", "JOB001 COL002 NOD002"),
    "node-off@node0": ("job.rank_died", {node("node0")}, "signal 9", "killed by signal 9", "JOB001 COL001 NOD002"),
    "node-frozen": ("job.rank_stalled", LAST, "node2 stands still", "nothing said", "JOB002 COL002 NOD002"),
    "coordinator-name-unknown": ("job.rendezvous_dns_not_ready", ALL, "node0", "node0: ", "NET003 NET001"),
}


def explained_checks(diagnosis):
    return {key.check for key in diagnosis.explains}


def assert_cited(root, diagnosis, words):
    """The evidence names lines that are there; one of them says it in words."""
    for evidence in diagnosis.evidence:
        lines = Path(root, evidence.file).read_text().splitlines()
        assert 0 < evidence.line <= len(lines), evidence
    assert any(words in e.text for e in diagnosis.evidence), [e.text for e in diagnosis.evidence]


def assert_all_explained(report):
    explained = {key for d in report.diagnoses for key in d.explains}
    assert [f for f in report.findings if f.status is Status.FAIL and f.key not in explained] == []


@pytest.mark.parametrize("scenario", FAULTS)
def test_fault(scenario, tmp_path):
    cause, subjects, summary, evidence, checks = FAULTS[scenario]
    root, began = tmp_path / "bundle", time.monotonic()
    report = faulty.run(scenario, root, nodes=NODES)
    assert report.verdict == "NO-GO" and report.diagnoses, faulty.summary(report)
    first = report.diagnoses[0]
    assert (first.cause, set(first.subjects)) == (cause, subjects), first
    assert summary in first.summary
    assert explained_checks(first) >= set(checks.split())
    assert len(report.diagnoses) == 1, report.diagnoses[1:]
    assert first.commands
    assert_cited(root, first, evidence)
    assert_all_explained(report)
    assert time.monotonic() - began < report.run.bound_seconds


def test_a_gloo_interface_that_is_not_there(tmp_path):
    plan = Plan.model_validate({"job": {"environment": {"GLOO_SOCKET_IFNAME": "eth9"}}})
    report = faulty.run("healthy", tmp_path / "bundle", nodes=NODES, plan=plan)
    (first,) = report.diagnoses
    assert (report.verdict, first.cause, set(first.subjects)) == ("NO-GO", "gloo.interface_wrong", ALL)
    assert "export GLOO_SOCKET_IFNAME=eth0" in first.commands[0]
    assert_cited(tmp_path / "bundle", first, "Unable to find address for: eth9")
    assert_all_explained(report)


def test_a_loopback_that_keeps_ranks_from_looking_at_storage(tmp_path):
    """Ranks look at storage as a group; where that can't form nothing is seen, and why is told."""
    plan = Plan.model_validate({"job": {"environment": {"GLOO_SOCKET_IFNAME": "lo"}}})
    report = faulty.run("healthy", tmp_path / "bundle", nodes=NODES, plan=plan, only=("storage",))
    (first,) = report.diagnoses
    assert (report.verdict, first.cause, set(first.subjects)) == ("UNDECIDED", "gloo.interface_wrong", ALL)
    assert {f.key for f in report.findings if f.status is Status.UNKNOWN} == set(first.explains)
    told = {f.subject: f for f in report.findings if f.check == "STO001"}
    assert set(told) == ALL
    for finding in told.values():
        assert f"Gloo on {finding.subject.name} uses lo (GLOO_SOCKET_IFNAME), the loopback" in finding.message
        assert finding.evidence
    assert next_step(report).startswith("mend 1, then: gonogo verify")


def test_healthy(tmp_path):
    report = faulty.run("healthy", tmp_path / "bundle", nodes=NODES)
    assert report.verdict == "GO", faulty.summary(report)
    assert report.diagnoses == ()
    assert not [f for f in report.findings if f.status not in (Status.OK, Status.SKIP)]


def test_two_faults_are_both_named(tmp_path):
    """A node that takes no new connections, and a rank that is killed among the others."""
    report = faulty.run("even-links+inbound-dropped@node0+rank-killed@node2", tmp_path / "bundle", nodes=4)
    named = {d.cause: set(d.subjects) for d in report.diagnoses}
    assert named == {"network.one_way_blocked": {node("node0")}, "job.rank_died": {node("node2")}}
    assert next(d.cause for d in report.diagnoses) == "network.one_way_blocked"
    assert_all_explained(report)


def test_a_pair_that_is_cut_is_a_pair_and_no_node(tmp_path):
    report = faulty.run("pair-dropped", tmp_path / "bundle", nodes=NODES, only=("network",))
    (first,) = report.diagnoses
    assert (first.cause, set(first.subjects)) == (
        "network.port_blocked", {link("node1", "node2"), link("node2", "node1")},
    )  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("attempt", range(20))
def test_healthy_twenty_times_at_standard(attempt, tmp_path):
    """The same thresholds that catch the faults; the smallest margin is printed."""
    report = faulty.run("healthy", tmp_path / "bundle", nodes=4, level="standard")
    margins = {f.name: f.value for f in report.figures if "margin" in f.name or "visible" in f.name}
    print(attempt, report.verdict, margins)
    assert report.verdict == "GO", faulty.summary(report)


@pytest.mark.soak
@pytest.mark.parametrize("scenario", ["rank-frozen", "rank-killed-in-training", "node-frozen-in-links",
                                      "node-frozen-in-ports", "node-killed-in-join"])  # fmt: skip
def test_faults_at_other_moments_name_the_last_node(scenario, tmp_path):
    report = faulty.run(scenario, tmp_path / "bundle", nodes=NODES)
    assert report.verdict == "NO-GO"
    assert set(report.diagnoses[0].subjects) == LAST, faulty.summary(report)
    assert_all_explained(report)
