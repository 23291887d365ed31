"""Who runs a framework step with a node that goes away hears of it from the agents, long before a timeout."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gonogo.agent.ahead import PARTING_SECONDS
from gonogo.agent.lead import SILENT_SECONDS

Make = Callable[..., Any]
STEPS = ["node", "ports", "join", "collectives", "train"]
BUSY_SECONDS = 12.0  # what a machine full of others may add


def waiting(agents: Make, folder: Path) -> Any:
    """Three agents whose ranks wait for ever, as in a store that never answers."""
    rank = folder / "rank"
    rank.write_text(f'#!/bin/sh\n: > "{folder}/ran-$RANK"\nexec sleep 1000\n')
    rank.chmod(0o755)
    three = agents(3, steps=STEPS, python=str(rank), step_seconds={**agents(1).spec.step_seconds, "train": 2.0}).start()
    three.until(lambda: len(list(folder.glob("ran-*"))) == 3)
    return three


@pytest.mark.parametrize("victim", [0, 2], ids=["coordinator", "member"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_survivors_end_their_ranks_soon_after_a_node_is_lost(
    agents: Make, tmp_path: Path, victim: int, number: signal.Signals
) -> None:
    three = waiting(agents, tmp_path)
    struck = time.time()
    three.processes[victim].send_signal(number)
    survivors = [index for index in range(3) if index != victim]
    three.until(lambda: all(three.records(index, "collectives", "exit") for index in survivors))
    silent = SILENT_SECONDS + three.spec.connect_seconds if number == signal.SIGSTOP else 0.0
    for index in survivors:
        (end,) = three.records(index, "collectives", "exit")
        assert (end["reason"], end["signal"]) == ("lost", signal.SIGKILL)
        assert PARTING_SECONDS < end["t"] - struck < silent + PARTING_SECONDS + BUSY_SECONDS
    three.wait(*survivors)
    for index in survivors:  # and the next step is done without the lost one
        assert {r["peer"] for r in three.records(index, "join", "lost")} <= {f"node{victim}"}
        assert [r["reason"] for r in three.records(index, "train", "exit")] == ["deadline"]
    groups = [r["members"] for index in survivors for r in three.records(index, "train", "group")]
    assert groups == [[f"node{index}" for index in survivors]]


def test_a_rank_that_ends_by_itself_is_heard_first(agents: Make, tmp_path: Path) -> None:
    """Most frameworks see a closed connection at once: what they say of it is worth more than that they were ended."""
    rank = tmp_path / "rank"
    wait = f'while [ ! -e "{tmp_path}/gone" ]; do sleep 0.1; done'
    rank.write_text(f'#!/bin/sh\n: > "{tmp_path}/ran-$RANK"\n{wait}\nexit 7\n')
    rank.chmod(0o755)
    three = agents(3, steps=STEPS[:-1], python=str(rank)).start()
    three.until(lambda: len(list(tmp_path.glob("ran-*"))) == 3)
    three.processes[0].kill()
    (tmp_path / "gone").touch()
    three.wait(1, 2)
    for index in (1, 2):
        (end,) = three.records(index, "collectives", "exit")
        assert (end["reason"], end["code"]) == ("", 7)
