"""Training between real processes: it learns, ranks agree, and the split of a step names the slow one."""

from __future__ import annotations

import ctypes
import os
import statistics
import subprocess
import sys

import pytest

STRAGGLER = """
import time, torch
original = torch.nn.functional.avg_pool2d
def slow(*a, **k):
    if rank == 1: time.sleep(0.15)
    return original(*a, **k)
torch.nn.functional.avg_pool2d = slow
"""
ASTRAY = """
import torch
original = torch.optim.SGD.step
def astray(self, *a, **k):
    original(self, *a, **k)
    if rank == 1:
        with torch.no_grad(): self.param_groups[0]["params"][0].view(-1)[5] += 1e-6
torch.optim.SGD.step = astray
"""
WRONG_AVERAGE = """
import torch.distributed.algorithms.ddp_comm_hooks.default_hooks as hooks
original = hooks.allreduce_hook
def wrong(state, bucket):
    bucket.buffer().mul_(0.5)
    return original(state, bucket)
hooks.allreduce_hook = wrong
"""


@pytest.fixture(scope="module")
def healthy(start):
    """Two ranks with loaders."""
    return start("train", 2, train_steps=20).wait()


def test_the_loss_falls_and_is_the_same_on_all_ranks(healthy):
    losses = [[r["loss"] for r in healthy.records(rank, "step")] for rank in range(2)]
    assert losses[0] == losses[1] and len(losses[0]) == 20
    summary = healthy.one(0, "summary")
    assert (summary["loss_first"], summary["loss_last"]) == (losses[0][0], losses[0][-1])
    assert summary["loss_last"] < 0.5 * summary["loss_first"]


def test_parameters_agree_bit_for_bit(healthy):
    first, second = healthy.one(0, "parameters"), healthy.one(1, "parameters")
    assert first["sha256"] == second["sha256"] and len(first["sha256"]) == 64
    assert first["elements"] == second["elements"] > 1_000_000


def test_one_process_reproduces_the_losses(healthy):
    record = healthy.one(0, "reproduction")
    assert record["steps"] == 3 and record["max_difference"] <= record["tolerance"]
    assert not healthy.records(1, "reproduction")


def test_the_parts_of_a_step_are_the_whole(healthy):
    for record in healthy.records(0, "step"):
        parts = ("data", "forward", "backward", "sync", "optimizer")
        values = [record[f"{part}_seconds"] for part in parts]
        assert all(value >= 0 for value in values)
        assert sum(values) == pytest.approx(record["seconds"])
        assert record["before_collective_seconds"] <= record["forward_seconds"] + record["backward_seconds"]


def test_one_rank_alone_trains_without_loaders(start):
    ranks = start("train", 1, train_steps=12, loader_workers=0).wait()
    assert ranks.one(0, "exit")["code"] == 0
    assert ranks.one(0, "summary")["loss_last"] < 0.5 * ranks.one(0, "summary")["loss_first"]
    assert ranks.one(0, "reproduction")["max_difference"] <= ranks.one(0, "reproduction")["tolerance"]


def test_a_straggler_takes_longest_before_the_collective_and_waits_least(start):
    ranks = start("train", 3, train_steps=10, patch=STRAGGLER).wait()

    def middle(rank: int, name: str) -> float:
        return statistics.median(r[name] for r in ranks.records(rank, "step")[2:])

    before = [middle(rank, "before_collective_seconds") for rank in range(3)]
    waits = [middle(rank, "sync_seconds") for rank in range(3)]
    assert before.index(max(before)) == 1 and before[1] > 0.15
    assert waits.index(min(waits)) == 1
    assert min(waits[0], waits[2]) > waits[1] + 0.05


def test_a_rank_that_strays_has_other_parameters(start):
    ranks = start("train", 2, train_steps=3, patch=ASTRAY).wait()
    assert ranks.one(0, "parameters")["sha256"] != ranks.one(1, "parameters")["sha256"]


def test_a_wrong_average_is_not_reproduced(start):
    ranks = start("train", 2, train_steps=4, patch=WRONG_AVERAGE).wait()
    record = ranks.one(0, "reproduction")
    assert record["max_difference"] > record["tolerance"]


@pytest.mark.fabric
def test_a_small_shared_memory_kills_the_loaders(start):
    if os.geteuid() and ctypes.CDLL(None).unshare(0x10000000) != 0:
        pytest.skip("needs root or a user namespace")
    patch = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x20000) == 0 and libc.mount(None, b"/", None, 0x44000, None) == 0
assert libc.mount(b"shm", b"/dev/shm", b"tmpfs", 0, b"size=24m") == 0
"""
    ranks = start("train", 1, patch=patch).wait()
    error = ranks.one(0, "error")
    assert error["phase"] in ("data", "step")
    assert "DataLoader worker" in error["text"]
    assert "shared memory" in ranks.one(0, "exit")["output"] + error["text"]


def test_images_depend_on_their_index_alone():
    code = (
        "from gonogo.agent.train import Images; i, l = Images(9)[7]; print(float(i.double().sum()), l, tuple(i.shape))"
    )
    told = {
        subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True).stdout
        for _ in range(2)
    }
    assert len(told) == 1 and "7 (256, 256)" in told.pop()


def test_shards_are_each_image_once():
    train = pytest.importorskip("gonogo.agent.train")
    for ranks in (1, 3, 4):
        for step in range(2):
            seen = [i for rank in range(ranks) for i in train.shard(rank, ranks, 2)[step]]
            assert sorted(seen) == list(range(step * train.BATCH * ranks, (step + 1) * train.BATCH * ranks))
