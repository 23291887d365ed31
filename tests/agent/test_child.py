"""A framework child is forked or spawned, watched, ended in time, and its end always recorded."""

from __future__ import annotations

import itertools
import os
import signal
import statistics
import sys
import time
import zipfile
from pathlib import Path

import pytest

import gonogo
from gonogo.agent import child, effort
from gonogo.agent.spec import Spec

HANG = """
import time, torch.distributed as dist
def hang(*a, **k):
    open(f"{job['out']}/hangs", "w").close()
    time.sleep(1000)
if rank == 1: dist.all_reduce = hang
"""


def archive(folder: Path) -> Path:
    """The agent as one file, as nodes get it."""
    package = Path(gonogo.__file__).parent
    path = folder / "agent.pyz"
    with zipfile.ZipFile(path, "w") as out:
        for part in [package / "__init__.py", *(package / "agent").glob("*.py"), *(package / "links").glob("*.py")]:
            out.write(part, Path("gonogo") / part.relative_to(package))
    return path


@pytest.mark.parametrize("way", ["fork", "spawn", "archive"])
def test_each_way_of_starting_ends_in_the_same_records(start, tmp_path, way):
    path = str(archive(tmp_path)) if way == "archive" else None
    ranks = start("collectives", 2, fork=way == "fork", path=path).wait()
    for rank in range(2):
        records = ranks.records(rank)
        assert [record["seq"] for record in records] == list(range(len(records)))
        assert {(r["v"], r["run"], r["node"], r["step"]) for r in records} == {
            (1, "test", f"node{rank}", "collectives")
        }
        assert records[-1]["kind"] == "exit"
        assert {k: records[-1][k] for k in ("code", "signal", "reason")} == {"code": 0, "signal": None, "reason": ""}
        assert ranks.one(rank, "init")["world_size"] == 2
        assert {r["op"] for r in ranks.records(rank, "op")} >= {"all_reduce", "all_gather", "barrier"}


def test_a_hang_is_ended_at_the_deadline_and_its_place_is_known(start):
    ranks = start("collectives", 2, patch=HANG)
    ranks.until((ranks.out / "hangs").exists)
    called = {key: ranks.records(1, "at")[-1][key] for key in ("op", "bytes")}
    ranks.until(lambda: called.items() <= ranks.records(0, "at")[-1].items())
    ranks.pass_deadline()
    began = time.monotonic()
    ranks.wait()
    assert time.monotonic() - began < 4 * child.GRACE_SECONDS + 8  # and what a busy machine takes
    waiting, hanging = (ranks.one(rank, "exit") for rank in range(2))
    assert (hanging["code"], hanging["reason"]) == (None, "deadline")
    assert hanging["signal"] in (signal.SIGTERM, signal.SIGKILL)
    # the one that waits may hear the other's end first, and raise, in the moment between two signals
    assert waiting["reason"] == "deadline" and (waiting["signal"] in (signal.SIGTERM, signal.SIGKILL, None))
    assert waiting["code"] in (None, 1) and (waiting["code"], waiting["signal"]) != (None, None)
    assert [ranks.records(rank, "at")[-1]["phase"] for rank in range(2)] == ["op", "op"]
    assert "operations.py" in ranks.one(1, "exit")["output"]
    assert len(ranks.one(1, "exit")["output"].encode()) <= child.OUTPUT_BYTES


def test_a_stopped_child_is_ended_too(start):
    ranks = start("collectives", 2, level="deep", sizes=[1 << 20] * 50, framework_seconds=2.0)
    ranks.until(lambda: ranks.records(1, "op"))
    os.kill(ranks.child(1), signal.SIGSTOP)
    ranks.until(lambda: ranks.records(0, "exit"))
    ranks.pass_deadline()
    ranks.wait()
    assert ranks.one(1, "exit")["reason"] == "deadline"
    assert ranks.one(1, "exit")["signal"] == signal.SIGKILL
    assert ranks.one(0, "exit")["code"] == 1
    assert "2000ms" in ranks.one(0, "error")["text"]


def test_a_child_dies_with_its_agent_and_takes_its_loaders_along(start):
    ranks = start("train", 1, train_steps=2000)
    ranks.until(lambda: ranks.records(0, "step"))
    agent = int(Path(f"/proc/{ranks.process.pid}/task/{ranks.process.pid}/children").read_text())
    inner = ranks.child(0)
    loaders = [int(pid) for pid in Path(f"/proc/{inner}/task/{inner}/children").read_text().split()]
    assert len(loaders) == 2
    os.kill(agent, signal.SIGKILL)
    ends = time.monotonic() + 20
    while left := [pid for pid in (inner, *loaders) if alive(pid)]:
        assert time.monotonic() < ends, left
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether it runs; a zombie that its new parent has not reaped doesn't."""
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_the_agent_goes_on_while_it_waits(start):
    patch = """
import time, torch.distributed as dist
from pathlib import Path
path = Path(job["out"], "polls")
polls = path.open("w", buffering=1)
def poll(): polls.write(f"{time.monotonic()}\\n")
def count(): return len(path.read_text().splitlines())
original = dist.all_reduce
def wait_for_polls(*a, **k):
    enough = count() + 5
    while count() < enough: time.sleep(0.01)
    return original(*a, **k)
dist.all_reduce = wait_for_polls
"""
    ranks = start("collectives", 1, patch=patch, sizes=[1024]).wait()
    assert ranks.one(0, "exit")["code"] == 0
    times = [float(line) for line in (ranks.out / "polls").read_text().splitlines()]
    assert statistics.median(b - a for a, b in itertools.pairwise(times)) < 0.25  # 4 Hz


def test_an_agent_that_gives_up_kills_its_child(start):
    patch = """
seen = []
def poll():
    seen.append(1)
    if len(seen) > 5: raise SystemExit(0)
import torch.distributed as dist, time
dist.all_reduce = lambda *a, **k: time.sleep(1000)
"""
    ranks = start("collectives", 1, patch=patch)
    ranks.process.communicate(timeout=30)
    end = ranks.records(0)[-1]
    assert (end["kind"], end["reason"], end["signal"]) == ("exit", "stopped", signal.SIGKILL)


def test_a_python_that_is_not_there_is_a_record(start):
    ranks = start("collectives", 1, python="/nowhere/python3").wait()
    assert "/nowhere/python3" in ranks.one(0, "error")["text"]
    assert ranks.one(0, "error")["phase"] == "start"
    assert ranks.one(0, "exit")["reason"] == "not started"


def test_a_framework_that_does_not_import_is_a_record(start, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('libcudart.so.12: cannot open shared object file')")
    environment = {"PYTHONPATH": str(tmp_path)}
    ranks = start("collectives", 1, fork=False, python=sys.executable, environment=environment).wait()
    error = ranks.one(0, "error")
    assert (error["phase"], error["type"]) == ("import", "ImportError")
    assert "libcudart.so.12" in error["text"]
    assert ranks.one(0, "exit")["code"] == 1


def test_a_crash_in_native_code_says_where(start):
    patch = "import torch.distributed as dist, os\ndist.all_reduce = lambda *a, **k: os.abort()"
    ranks = start("collectives", 1, patch=patch).wait()
    end = ranks.one(0, "exit")
    assert (end["code"], end["signal"]) == (None, signal.SIGABRT)
    assert "Fatal Python error: Aborted" in end["output"] and "operations.py" in end["output"]


def test_much_output_neither_blocks_nor_fills_the_record(start):
    patch = """
import torch.distributed as dist, os
original = dist.init_process_group
def noisy(*a, **k):
    for _ in range(200): os.write(2, b"x" * 65535 + b"\\n")
    os.write(1, b"the last line\\n")
    return original(*a, **k)
dist.init_process_group = noisy
"""
    ranks = start("collectives", 1, patch=patch).wait()
    end = ranks.one(0, "exit")
    assert end["code"] == 0
    assert "the last line" in end["output"] and len(end["output"].encode()) <= child.OUTPUT_BYTES


def test_a_child_keeps_nothing_of_the_agent_open(start):
    patch = """
import os, socket, torch.distributed as dist
kept = socket.socketpair()
links = {os.readlink(f"/proc/self/fd/{s.fileno()}") for s in kept}
def tell(*a, **k):
    here = {os.readlink(p) for p in os.scandir("/proc/self/fd") if os.path.lexists(p)}
    print("kept:", len(here & links), "of", len(links), "among", len(here))
    raise SystemExit
dist.init_process_group = tell
"""
    output = start("collectives", 1, patch=patch).wait().one(0, "exit")["output"]
    assert "kept: 0 of 2 among" in output


def test_settings_that_a_fork_would_ignore_are_not_forked(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", object())
    plain = Spec(run="r", peers=["a"], addresses=["127.0.0.1"])
    single = len(list(Path("/proc/self/task").iterdir())) == 1
    assert child.forkable(plain) is single
    for environment in ({"LD_PRELOAD": "x.so"}, {"OMP_NUM_THREADS": "4"}, {"PYTHONPATH": "x"}):
        assert not child.forkable(Spec(run="r", peers=["a"], addresses=["127.0.0.1"], environment=environment))
    assert not child.forkable(Spec(run="r", peers=["a"], addresses=["127.0.0.1"], python="python3"))
    gloo = Spec(run="r", peers=["a"], addresses=["127.0.0.1"], environment={"GLOO_SOCKET_IFNAME": "eth0"})
    assert child.forkable(gloo) is single


def test_the_plan_has_the_last_word_on_the_environment():
    spec = Spec(run="r", peers=["a", "b"], addresses=["10.0.0.1", "10.0.0.2"], environment={"MASTER_ADDR": "other"})
    environment = child.environment_of(spec, 1, spec.peers, spec.addresses)
    assert environment["MASTER_ADDR"] == "other"
    assert (environment["RANK"], environment["WORLD_SIZE"], environment["MASTER_PORT"]) == ("1", "2", "29500")


def test_several_ranks_of_a_node_know_which_they_are():
    spec = Spec("r", ["a", "b"], ["10.0.0.1", "10.0.0.2"])
    members, addresses = ["a", "a", "b", "b"], ["10.0.0.1"] * 2 + ["10.0.0.2"] * 2
    told = [child.environment_of(spec, rank, members, addresses) for rank in range(4)]
    assert [(t["RANK"], t["LOCAL_RANK"]) for t in told] == [("0", "0"), ("1", "1"), ("2", "0"), ("3", "1")]
    assert {(t["WORLD_SIZE"], t["LOCAL_WORLD_SIZE"], t["MASTER_ADDR"]) for t in told} == {("4", "2", "10.0.0.1")}
    assert [child.place_of(rank, members) for rank in (0, 3)] == [{"of_rank": 0}, {"of_rank": 3}]
    assert child.place_of(1, ["a", "b"]) == {}


CROWDED = """
import os, torch.distributed as dist
def crowded(*a, **k):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for _ in range(5): os.fork()
    open(f"{job['out']}/hangs", "w").close()
    while True: pass
if rank == 1: dist.all_reduce = crowded
"""


def test_one_that_has_no_cpu_when_its_time_is_up_is_told_from_one_that_waits(start):
    ranks = start("collectives", 2, patch=CROWDED)
    ranks.until((ranks.out / "hangs").exists)
    stat = Path(f"/proc/{ranks.child(1)}/schedstat")
    before = int(stat.read_text().split()[1])
    ranks.until(lambda: int(stat.read_text().split()[1]) - before > 4e9)
    ranks.pass_deadline()
    ranks.wait()
    waiting, crowded = (ranks.one(rank, "exit") for rank in range(2))
    assert crowded["reason"] == "deadline" and crowded["waited_seconds"] > crowded["ran_seconds"]
    assert crowded["ran_seconds"] + crowded["waited_seconds"] > crowded["looked_seconds"]
    assert waiting["ran_seconds"] + waiting["waited_seconds"] < crowded["waited_seconds"] / 2


def test_a_thread_that_ends_takes_no_time_away():
    counts = {1: (5, 1), 2: (900, 900)}
    work = effort.Effort(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(effort, "_schedstats", lambda pid: iter(counts.items()))
        clock = itertools.count(0.0, 1.0)
        patch.setattr(effort.time, "monotonic", lambda: next(clock))
        work.look()
        counts = {1: (10**9, 2 * 10**9 + 1), 3: (10**9, 0)}
        work.look()
    assert work.told() == {"looked_seconds": 1.0, "ran_seconds": 2.0, "waited_seconds": 2.0}
