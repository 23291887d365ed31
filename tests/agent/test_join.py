"""Joining, leading and losing each other, with real agents that are killed and frozen."""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gonogo.agent.main import run

Make = Callable[..., Any]
STEPS = ["node", "ports", "join", "links"]
NO_FRAMEWORK: dict[str, Any] = {"steps": [*STEPS, "collectives"], "python": "/bin/false"}
"""Of the framework step only who would take part is of interest here: its children fail at once."""
SHORT: dict[str, Any] = {"start_seconds": 1.0, "join_seconds": 2.0}
"""For tests in which not all come."""


def kinds(agents: Any, index: int, step: str) -> list[str]:
    return [r["kind"] for r in agents.records(index, step)]


def test_all_join_the_first_and_end_well(agents: Make) -> None:
    four = agents(4).start().wait()
    for index in range(4):
        (joined,) = four.records(index, "join", "joined")
        assert joined["coordinator"] == "node0"
        assert kinds(four, index, "agent")[-1] == "finish"
        assert not four.records(index, "agent", "crash")
    (roster,) = four.records(0, "join", "roster")
    assert roster["present"] == four.spec.peers and roster["missing"] == []


def test_the_heart_beats_at_least_once_a_second(agents: Make) -> None:
    two = agents(2, start_seconds=1.0, join_seconds=4.0).start(0).wait(0)  # it waits for the other
    times = [r["t"] for r in two.records(0, "agent")]
    assert times[-1] - times[0] > 2.0
    assert max(b - a for a, b in itertools.pairwise(times)) < 1.5


def test_the_next_leads_when_the_first_never_came(agents: Make) -> None:
    three = agents(3, steps=STEPS, **SHORT).start(1, 2).wait(1, 2)
    (roster,) = three.records(1, "join", "roster")
    assert roster["present"] == ["node1", "node2"]
    (missing,) = roster["missing"]
    assert missing["peer"] == "node0" and "refused" in missing["reason"]
    assert three.records(2, "join", "joined")[0]["coordinator"] == "node1"
    assert {r["peer"] for r in three.records(2, "links", "throughput")} == {"node1"}


def test_one_alone_says_whom_it_tried(agents: Make) -> None:
    three = agents(3, **NO_FRAMEWORK, **SHORT).start(1).wait(1)
    (failed,) = three.records(1, "join", "failed")
    assert {t["peer"]: t["outcome"] for t in failed["tried"]} == {"node0": "refused", "node2": "refused"}
    (group,) = three.records(1, "collectives", "group")
    assert group["members"] == [] and {e["peer"] for e in group["left_out"]} == set(three.spec.peers)
    assert not three.records(1, "collectives", "exit")  # no time is lost with a framework that can't work


def test_a_first_node_that_is_frozen_holds_nobody_up(agents: Make) -> None:
    three = agents(3, steps=STEPS, start_seconds=3.0, join_seconds=2.0).start(0)
    three.until(lambda: three.records(0, "ports", "probe"))
    os.kill(three.processes[0].pid, signal.SIGSTOP)
    three.start(1, 2).wait(1, 2)
    assert three.records(2, "join", "joined")[0]["coordinator"] == "node1"
    assert "mute" in three.records(1, "join", "roster")[0]["missing"][0]["reason"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_coordinator_is_replaced_and_the_rest_goes_on(agents: Make, number: signal.Signals) -> None:
    four = agents(4, **NO_FRAMEWORK, slice_seconds=1.0)
    four.start()
    four.until(lambda: four.records(1, "links"))
    four.processes[0].send_signal(number)
    four.wait(1, 2, 3)
    for index in (1, 2, 3):
        (lost,) = [r for r in four.records(index, "join", "lost") if r["peer"] == "node0"][:1]
        assert lost["at"] == "links"
        assert four.records(index, "join", "joined")[-1]["coordinator"] == "node1"
        seen = {
            r["outcome"]
            for r in four.records(index, "ports", "probe")
            if r.get("after") == "links" and r["peer"] == "node0"
        }
        assert seen == ({"refused"} if number == signal.SIGKILL else {"mute"})
        (end,) = [r for r in four.records(index, "agent", "end") if r["of"] == "links"]
        assert "lost the coordinator node0" in end["error"]
        assert kinds(four, index, "agent")[-1] == "finish"
    (group,) = four.records(1, "collectives", "group")
    assert group["members"] == ["node1", "node2", "node3"]


def test_a_lost_member_is_left_out_of_what_comes(agents: Make) -> None:
    three = agents(3, **NO_FRAMEWORK, slice_seconds=1.0).start()
    three.until(lambda: three.records(2, "links"))
    three.processes[2].kill()
    three.wait(0, 1)
    assert [r["peer"] for r in three.records(0, "join", "lost")] == ["node2"]
    (group,) = three.records(0, "collectives", "group")
    assert group["members"] == ["node0", "node1"] and group["left_out"][0]["peer"] == "node2"


def test_a_late_agent_is_missing_and_says_so_itself(agents: Make) -> None:
    three = agents(3, steps=STEPS, slice_seconds=1.0, **SHORT).start(0, 1)
    rosters = lambda: [r for i in (0, 1) for r in three.records(i, "join", "roster")]  # noqa: E731
    three.until(rosters)
    three.start(2).wait()
    (failed,) = three.records(2, "join", "failed")
    assert "started without it" in str(failed["tried"])
    assert [entry["peer"] for entry in rosters()[0]["missing"]] == ["node2"]


def test_a_whole_run_of_one(agents: Make) -> None:
    one = agents(1, steps=STEPS).start().wait()
    times = [r["t"] for r in one.records(0, "agent")]
    assert times[-1] - times[0] < 10  # it waits for nobody: that would take it 20 s
    assert one.records(0, "join", "roster")[0]["present"] == ["node0"]
    assert one.records(0, "links", "plan")[0]["pairs"] == []


def alone(spec: Any, tmp_path: Path) -> list[dict[str, Any]]:
    """The records of an agent that runs in this process."""
    with (tmp_path / "out").open("wb") as out:
        assert run(spec, 0, out.fileno()) == 0
    return [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]


def test_a_bug_in_the_coordinators_part_of_a_step_costs_that_step(
    agents: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tour(lead: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("gonogo.agent.tour.tour", tour)
    records = alone(agents(1, **NO_FRAMEWORK).spec, tmp_path)
    (crash,) = [r for r in records if r["kind"] == "crash"]
    assert crash["of"] == "links" and "ZeroDivisionError" in crash["traceback"]
    assert [r for r in records if r["step"] == "collectives" and r["kind"] == "group"]
    assert records[-1]["kind"] == "finish"


def test_a_bug_in_leading_ends_the_run_and_is_recorded(
    agents: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tell(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("gonogo.agent.lead.Lead.tell", tell)
    records = alone(agents(1, steps=STEPS).spec, tmp_path)
    assert [r for r in records if r["kind"] == "crash"]
    assert records[-1]["kind"] == "finish"


def test_a_bug_in_a_members_part_is_answered_and_costs_its_step(
    agents: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_step(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("gonogo.agent.beside.run_step", run_step)
    started = time.monotonic()
    records = alone(agents(1, **NO_FRAMEWORK).spec, tmp_path)
    assert time.monotonic() - started < 15  # nobody waited for an answer that would never come
    (end,) = [r for r in records if r["kind"] == "end" and r["of"] == "collectives"]
    assert "ZeroDivisionError" in end["error"]
    assert records[-1]["kind"] == "finish"
