"""Several ranks of one node beside each other: all told apart, all ended, whatever becomes of one of them."""

import json
import signal
import subprocess
import sys

import pytest

SCRIPT = """
import os, signal, socket, sys, time
from gonogo.agent import beside, child
from gonogo.agent.records import Writer
from gonogo.agent.spec import Spec
child.preload()
import torch.distributed as dist

all_reduce = dist.all_reduce
def frozen(*given, **named):
    if os.environ["LOCAL_RANK"] in {frozen!r}:
        os.kill(os.getpid(), signal.SIGSTOP)
    return all_reduce(*given, **named)
dist.all_reduce = frozen

with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
environment = {{"GLOO_SOCKET_IFNAME": "lo", **{environment!r}}}
spec = Spec("r", ["a"], ["127.0.0.1"], level="quick", sizes=[1024], rendezvous_port=port, framework_seconds=60.0,
            environment=environment, ranks_per_node=3)
polls = []
def poll():
    polls.append(time.monotonic())
    {poll}
deadline = time.monotonic() + {seconds}
writer = Writer("r", "a", 1)
try:
    beside.run_ranks("collectives", spec, [0, 1, 2], ["a"] * 3, ["127.0.0.1"] * 3, writer, deadline, poll)
except RuntimeError as error:
    print("raised", error, file=sys.stderr)
left = open(f"/proc/{{os.getpid()}}/task/{{os.getpid()}}/children").read().split()
print("left", len(left), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def run():
    def three(seconds=60, frozen=(), poll="pass", **environment):
        code = SCRIPT.format(seconds=seconds, frozen=set(frozen) or {""}, poll=poll, environment=environment)
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    return three


def of(records, kind):
    return {r["of_rank"]: r for r in records if r["kind"] == kind}


def test_each_rank_has_its_own_records_and_its_own_end(run):
    records, _ = run()
    assert all(r["node"] == "a" and r["of_rank"] in (0, 1, 2) for r in records)
    assert {n: (r["rank"], r["local_rank"], r["world_size"]) for n, r in of(records, "init").items()} == {
        0: (0, 0, 3), 1: (1, 1, 3), 2: (2, 2, 3)
    }  # fmt: skip
    assert {n: (r["code"], r["reason"]) for n, r in of(records, "exit").items()} == dict.fromkeys(range(3), (0, ""))
    assert [r["seq"] for r in records] == list(range(len(records)))


def test_ranks_that_hang_are_all_ended_at_the_deadline(run):
    records, stderr = run(seconds=8, frozen=("1", "2"))
    ends = of(records, "exit")
    assert {n: r["reason"] for n, r in ends.items()} == dict.fromkeys(range(3), "deadline")
    assert [ends[n]["signal"] for n in (1, 2)] == [signal.SIGKILL] * 2
    assert "operations.py" in ends[0]["output"]  # the one that waited says where
    assert "left 0" in stderr


def test_an_agent_that_gives_up_ends_all_of_them(run):
    records, stderr = run(frozen=("0", "1", "2"), poll="if len(polls) > 30: raise RuntimeError('given up')")
    assert {r["reason"] for r in of(records, "exit").values()} == {"stopped"} and len(of(records, "exit")) == 3
    assert "raised given up" in stderr and "left 0" in stderr


def test_ranks_that_are_told_nonsense_say_so_each(run):
    records, _ = run(LOCAL_RANK="x")
    assert {n: r["type"] for n, r in of(records, "error").items()} == dict.fromkeys(range(3), "ValueError")
    assert {r["code"] for r in of(records, "exit").values()} == {1}
