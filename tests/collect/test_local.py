"""Collecting from the launcher as it is, with an agent that only does what a test asks for."""

import json
import sys
import threading
import time
from pathlib import Path

import pytest

from gonogo.collect.local import LocalTarget, run_agents, steps_for
from gonogo.documents.bundle import Bundle
from gonogo.documents.records import CollectivesLog, LinksLog, NodeLog, PortsLog, TrainLog
from gonogo.kernel import Control, Lost
from gonogo.plan import Plan

FAKE = str(Path(__file__).parents[1] / "launch" / "fake_launcher.py")


def control(*wanted, progress=lambda _: None):
    return Control(frozenset(wanted), threading.Event(), progress)


@pytest.fixture
def collect(tmp_path):
    def run(mode, *wanted, launcher=None, **target):
        bundle = Bundle.create(tmp_path / "bundle")
        argv = launcher or (sys.executable, FAKE, mode)
        return list(
            run_agents(LocalTarget(**{"nodes": 2, "launcher": argv} | target), Plan(), bundle, control(*wanted))
        )

    return run


@pytest.mark.parametrize(
    "wanted, steps",
    [
        ({NodeLog}, ("node",)),
        ({PortsLog}, ("node", "ports", "join")),
        ({LinksLog}, ("node", "ports", "join", "links")),
        ({TrainLog}, ("node", "ports", "join", "train")),
        ({NodeLog, CollectivesLog, str}, ("node", "ports", "join", "collectives")),
    ],
)
def test_only_the_steps_that_somebody_wants_are_run(wanted, steps):
    assert steps_for(frozenset(wanted)) == steps


def test_each_step_comes_as_a_document_and_every_record_is_in_the_bundle(collect, tmp_path):
    logs = collect("ok", NodeLog, LinksLog)
    assert [type(log) for log in logs] == [NodeLog, PortsLog, LinksLog]
    assert {r.node for r in logs[0].records if r["step"] == "node"} == {"node0", "node1"}
    for log in logs:
        assert log.ended == {"node0": "", "node1": ""}
        for r in log.records:
            line = (tmp_path / "bundle" / r.file).read_text().splitlines()[r.line - 1]
            assert json.loads(line) == r.data
    over = [r for r in map(json.loads, (tmp_path / "bundle/agents/fabric.jsonl").open()) if r["kind"] == "over"]
    assert [r["of"] for r in over] == ["node", "ports", "links"]


def test_a_killed_agent_is_named_and_the_rest_goes_on(collect):
    logs = collect("killed", LinksLog)
    assert [type(log) for log in logs] == [NodeLog, PortsLog, LinksLog]
    assert logs[-1].ended == {"node0": "", "node1": "killed by signal 9"}


def test_a_frozen_agent_is_named_while_the_others_go_on(collect):
    logs = collect("frozen", LinksLog)
    assert logs[0].ended == {"node0": "", "node1": ""}
    assert logs[-1].ended["node1"].startswith("stopped answering at ")


def test_it_stops_within_half_a_second(tmp_path):
    asked = control(PortsLog)
    logs = run_agents(
        LocalTarget(2, launcher=(sys.executable, FAKE, "forever")), Plan(), Bundle.create(tmp_path / "b"), asked
    )
    assert isinstance(next(logs), NodeLog)
    timer = threading.Timer(0.1, asked.stopped.set)
    timer.start()
    began = time.monotonic()
    assert list(logs) == []
    assert time.monotonic() - began < 0.1 + 0.5
    timer.join()


def test_its_time_is_bounded_by_the_run(tmp_path):
    asked = control(PortsLog)
    asked.deadline = time.monotonic() + 1.5
    target = LocalTarget(2, launcher=(sys.executable, FAKE, "forever"))
    *_, last = run_agents(target, Plan(), Bundle.create(tmp_path / "b"), asked)
    assert set(last.ended.values()) == {"was cut off at the run's time limit"}


def test_progress_tells_the_step_and_how_many_are_through(tmp_path):
    told = []
    target = LocalTarget(2, launcher=(sys.executable, FAKE, "frozen"))
    list(run_agents(target, Plan(), Bundle.create(tmp_path / "b"), control(PortsLog, progress=told.append)))
    assert ("ports", 0, 2) in {(p.text, p.done, p.total) for p in told}


@pytest.mark.parametrize(
    "launcher, reason",
    [
        ((sys.executable, "-c", "raise SystemExit('no room')"), "no room"),
        ((sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"), "the launcher was killed by signal 9"),
    ],
)
def test_a_launcher_that_does_not_start_is_a_loss_with_its_reason(collect, launcher, reason):
    (lost,) = collect("", NodeLog, launcher=launcher)
    assert isinstance(lost, Lost) and reason in lost.reason


def test_a_launcher_that_dies_in_between_ends_every_node(collect):
    script = (
        "import json,sys; sys.stdin.readline();"
        "print(json.dumps({'node':'node0','step':'agent','kind':'begin','of':'ports'}), flush=True); sys.exit(3)"
    )
    logs = collect("", PortsLog, launcher=(sys.executable, "-c", script))
    assert [type(log) for log in logs] == [NodeLog, PortsLog]
    assert set(logs[-1].ended.values()) == {"the launcher ended with 3"}


def test_lines_that_are_no_records_are_kept_and_passed_over(collect, tmp_path):
    script = "import sys; sys.stdin.readline(); print('[1]'); print('{'); print('{\"node\": \"../../x\"}'); sys.exit(0)"
    (lost,) = collect("", NodeLog, launcher=(sys.executable, "-c", script))
    assert isinstance(lost, Lost)
    assert (tmp_path / "bundle/agents/stray.txt").read_text().splitlines() == ["[1]", "{", '{"node": "../../x"}']


@pytest.mark.fabric
def test_the_agent_itself_runs_on_a_fabric(collect):
    logs = collect("", LinksLog, launcher=LocalTarget().launcher, level="quick")
    assert [type(log) for log in logs] == [NodeLog, PortsLog, LinksLog]
    assert {r["outcome"] for r in logs[1].of("probe")} == {"connected"}
    assert {r.node for r in logs[2].of("throughput")} == {"node0", "node1"}
