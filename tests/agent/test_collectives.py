"""Collectives between real processes: right when healthy, and each fault recorded where it is."""

from __future__ import annotations

import os
import signal

import pytest

BAD_SUM = """
import torch.distributed as dist
original = dist.all_reduce
def corrupt(tensor, *a, **k):
    if rank == 1 and tensor.numel() == 16384: tensor.view(-1)[777] += 1024
    return original(tensor, *a, **k)
dist.all_reduce = corrupt
"""
BAD_SENDER = """
import torch.distributed as dist
for name in ("all_gather_single", "all_gather_into_tensor"):
    def corrupt(result, given, *a, original=getattr(dist, name, None), **k):
        if rank == 1: given.view(-1)[3] += 1
        return original(result, given, *a, **k)
    setattr(dist, name, corrupt)
"""
SLOW = """
import time, torch.distributed as dist
original = dist.all_reduce
def slow(tensor, *a, **k):
    time.sleep(tensor.nbytes / 2e6)
    return original(tensor, *a, **k)
dist.all_reduce = slow
"""
IDLE = """
import torch.distributed as dist
dist.all_reduce = lambda tensor, *a, **k: None
"""


@pytest.fixture(scope="module")
def healthy(start):
    """Three ranks, so that nothing divides evenly."""
    return start("collectives", 3, level="standard", sizes=[1024, 100_000, 1 << 20, 4 << 20]).wait()


def test_every_collective_is_right_on_every_rank(healthy):
    for rank in range(3):
        done = healthy.records(rank, "op")
        assert {(r["op"], r["dtype"]) for r in done} == {
            (op, dtype)
            for op in ("all_reduce", "broadcast", "all_gather", "reduce_scatter", "all_to_all", "send_recv")
            for dtype in ("float32", "bfloat16", "int64")
        } | {("barrier", "float32")}
        assert all(r["wrong"] == 0 and r["wrong_from"] == [] and r["ranks"] == 3 for r in done)
        assert all(0 < r["min_seconds"] <= r["seconds"] <= r["max_seconds"] for r in done)
        assert healthy.one(rank, "exit")["code"] == 0


def test_the_sweep_covers_all_sizes_and_the_largest_twice(healthy):
    sweep = [(r["bytes"], r["repeat"]) for r in healthy.records(0, "op") if r["op"] == "all_reduce"]
    assert sweep[3:] == [(1024, 1), (100_000, 1), (1 << 20, 1), (4 << 20, 1), (1 << 20, 2), (4 << 20, 2)]


def test_each_measurement_is_announced_before_it_begins(healthy):
    kinds = [(r["kind"], r.get("op"), r.get("bytes")) for r in healthy.records(0, "at", "op") if r.get("op")]
    assert len(kinds) > 20 and len(kinds) % 2 == 0
    for announced, done in zip(kinds[::2], kinds[1::2], strict=True):
        assert announced == ("at", *done[1:])


def test_the_addresses_in_use_are_recorded(healthy):
    start = healthy.one(1, "init")
    assert start["interface_address"] == "127.0.0.1"
    assert start["connections"] == [["127.0.0.1", "127.0.0.1"]]
    assert (start["device"], start["device_reason"]) == ("cpu", "gloo moves host memory")


def test_one_rank_alone_works(start):
    ranks = start("collectives", 1, level="standard", sizes=[1024, 65536]).wait()
    assert {r["op"] for r in ranks.records(0, "op")} >= {"all_reduce", "all_to_all", "barrier"}
    assert all(r["wrong"] == 0 for r in ranks.records(0, "op"))
    assert ranks.one(0, "init")["interface_address"] == ""


def test_a_rank_killed_in_a_collective_is_the_one_that_exits_by_signal(start):
    ranks = start("collectives", 3, level="deep", sizes=[1 << 20] * 50)
    ranks.until(lambda: any(r["bytes"] == 1 << 20 for r in ranks.records(1, "op")))
    os.kill(ranks.child(1), signal.SIGKILL)
    ranks.wait()
    assert (ranks.one(1, "exit")["signal"], ranks.one(1, "exit")["reason"]) == (signal.SIGKILL, "")
    for survivor in (0, 2):
        error = ranks.one(survivor, "error")
        assert (error["phase"], error["op"], error["bytes"]) == ("op", "all_reduce", 1 << 20)
        assert "Connection closed by peer" in error["text"] or "reset by peer" in error["text"]
        assert ranks.one(survivor, "exit")["code"] == 1


def test_a_corrupted_sum_is_counted_on_every_rank(start):
    ranks = start("collectives", 3, patch=BAD_SUM).wait()
    for rank in range(3):
        for record in ranks.records(rank, "op"):
            bad = (record["op"], record["bytes"]) == ("all_reduce", 65536)
            calls = record["iterations"] * record["calls"] + 1  # the first, which is not timed
            assert record["wrong"] == (calls if bad else 0), record
            assert record["max_error"] == (1024.0 if bad else 0.0)


def test_where_the_op_tells_the_sender_of_wrong_data_is_named(start):
    ranks = start("collectives", 3, patch=BAD_SENDER).wait()
    for rank in range(3):
        blamed = {r["op"]: r["wrong_from"] for r in ranks.records(rank, "op") if r["wrong"]}
        assert blamed == {"all_gather": [1]}


def test_a_collective_that_does_nothing_is_wrong(start):
    ranks = start("collectives", 2, patch=IDLE).wait()
    assert all(r["wrong"] > 0 for r in ranks.records(0, "op") if r["op"] == "all_reduce")


def test_a_slow_fabric_ends_in_time_and_says_what_was_left_out(start):
    step_seconds = {"collectives": 10.0}
    ranks = start("collectives", 2, patch=SLOW, sizes=[1 << 20, 2 << 20, 16 << 20], step_seconds=step_seconds).wait()
    assert ranks.one(0, "exit")["code"] == 0
    done = {r["bytes"] for r in ranks.records(0, "op") if r["op"] == "all_reduce" and r["dtype"] == "float32"}
    assert {1 << 20} <= done and 16 << 20 not in done
    assert [r["sizes"] for r in ranks.records(0, "cut")] == [r["sizes"] for r in ranks.records(1, "cut")]
    first = ranks.records(0, "cut")[0]
    assert (first["op"], first["sizes"][-1]) == ("all_reduce", 16 << 20)
    assert first["predicted_seconds"] > first["left_seconds"]


def test_a_rank_that_never_comes_is_named(start):
    ranks = start("collectives", 3, started=[0, 1], framework_seconds=2.0).wait()
    for rank in range(2):
        error = ranks.one(rank, "error")
        assert (error["phase"], error["type"], error["missing"]) == ("store", "MissingRanks", ["node2"])
        assert error["text"] == "2 of 3 ranks came to the store within 2 s; missing: node2"
        assert error["seconds"] < 6


def test_two_ranks_with_one_number_are_told_so(start):
    ranks = start("collectives", 3, started=[0, 1, 1], framework_seconds=3.0).wait()
    texts = [e["text"] for place in range(3) for e in ranks.records(place, "error")]
    assert any(text.startswith("rank 1 is taken by ") for text in texts)


def test_another_world_size_is_told_so(start):
    patch = "spec = {'environment': {'WORLD_SIZE': '2'}} if rank == 0 else {}"
    ranks = start("collectives", 3, patch=patch, framework_seconds=3.0).wait()
    for rank in range(2):
        error = ranks.one(rank, "error")
        assert error["type"] == "RankConflict" and "was told of 3 ranks, rank 0" in error["text"]


def astray(other):
    """Rank 1 does something else where all sum 64 KiB."""
    return f"""
import torch, torch.distributed as dist
original = dist.all_reduce
def astray(tensor, *a, **k):
    return {other} if rank == 1 and tensor.numel() == 16384 else original(tensor, *a, **k)
dist.all_reduce = astray
"""


def test_ranks_that_lose_step_show_different_calls(start):
    patch = astray("dist.broadcast(tensor, 0)")
    ranks = start("collectives", 2, patch=patch, framework_seconds=2.0).wait()
    first, second = ({c["seq"]: c for c in ranks.one(rank, "calls")["calls"]} for rank in range(2))
    differ = [seq for seq in sorted(first.keys() & second.keys()) if first[seq] != second[seq]]
    assert (first[differ[0]]["op"], second[differ[0]]["op"]) == ("all_reduce", "broadcast")
    assert first[differ[0]]["shapes"] == [[16384]] and first[differ[0]]["dtypes"] == ["Float"]


@pytest.mark.parametrize(
    "other", ["original(tensor[:-9].clone())", "original(tensor.double())", "None"], ids=["shape", "type", "call fewer"]
)
def test_sizes_that_do_not_match_abort_a_rank_and_the_words_are_kept(start, other):
    """Gloo aborts the receiver, innocent or not, so that it has no chance to tell its calls; the others tell theirs."""
    ranks = start("collectives", 3, patch=astray(other), framework_seconds=2.0).wait()
    ends = [ranks.one(rank, "exit") for rank in range(3)]
    assert all(end["code"] != 0 for end in ends)
    aborted = [end for end in ends if end["signal"] == signal.SIGABRT]
    assert aborted and all("EnforceNotMet" in end["output"] for end in aborted)
    for rank, end in enumerate(ends):
        if end["signal"] is None:
            assert ranks.one(rank, "calls")["calls"][-1]["op"] in ("all_reduce", "barrier")


def test_another_type_of_equal_size_is_no_error_but_wrong(start):
    ranks = start("collectives", 2, patch=astray("original(tensor.view(torch.int32))")).wait()
    for rank in range(2):
        bad = [r["bytes"] for r in ranks.records(rank, "op") if r["wrong"]]
        assert bad == [65536, 65536]


def test_an_interface_that_is_not_there_is_named(start):
    ranks = start("collectives", 2, environment={"GLOO_SOCKET_IFNAME": "eth9"}, framework_seconds=3.0).wait()
    for rank in range(2):
        error = ranks.one(rank, "error")
        assert error["phase"] == "init" and "eth9" in error["text"]


def test_nccl_without_a_gpu_says_what_is_missing(start):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    ranks = start("collectives", 1, backend="nccl").wait()
    assert "NCCL needs a CUDA device" in ranks.one(0, "error")["text"]
