"""Storage probed by real ranks on real file systems: tmpfs that is full, small, read-only or not shared, and a disk."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import signal
import time

import pytest

MOUNT = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x20000) == 0 and libc.mount(None, b"/", None, 0x44000, None) == 0, ctypes.get_errno()
def mount(options, flags=0, path=job["spec"]["storage_paths"][0].encode()):
    assert libc.mount(b"gonogo-test", path, b"tmpfs", flags, options.encode()) == 0, ctypes.get_errno()
"""
TORN = """
import time
from pathlib import Path
from gonogo.agent import storage
def in_place(self, path, text):
    with path.open("w") as file:
        for part in (text[:10], text[10:]):
            file.write(part); file.flush(); time.sleep(0.005)
if rank == 1: storage.Probe._put = in_place
"""
FOREIGN = """
from gonogo.agent import files
original = files.write
def other(path, name, size): return original(path, "somebody", size)
if rank == 1: files.write = other
"""
SLOW = """
import os, time
original = os.fsync
def slow(fd):
    time.sleep(os.fstat(fd).st_size / 4e6)
    original(fd)
os.fsync = slow
"""
NO_LOCKS = "import fcntl\nif rank == 1: fcntl.flock = lambda fd, how: None"


@pytest.fixture(scope="module")
def healthy(start, tmp_path_factory):
    """Three ranks on one directory."""
    folder = tmp_path_factory.mktemp("shared")
    ranks = start("storage", 3, storage_paths=[str(folder)]).wait()
    return ranks, folder


@pytest.fixture
def mounts():
    """Skips where file systems can't be mounted."""
    if os.geteuid() or ctypes.CDLL(None).access(b"/proc/self/ns/mnt", 0):
        missing = "mounting file systems needs root"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)


def failures(ranks, rank):
    return {record["op"]: record["errno"] for record in ranks.records(rank, "failed")}


def test_shared_storage_does_what_training_asks(healthy):
    ranks, _ = healthy
    for rank in range(3):
        assert ranks.one(rank, "exit")["code"] == 0
        assert not ranks.records(rank, "failed")
        others = sorted({"node0", "node1", "node2"} - {f"node{rank}"})
        seen = ranks.one(rank, "visible")
        assert (seen["seen"], seen["unseen"], seen["wrong_blocks"]) == (others, [], {})
        replaced = ranks.one(rank, "replaced")
        assert replaced["reads"] > 0 and (replaced["missing"], replaced["torn"]) == (0, 0)
        for lock in ranks.records(rank, "lock"):
            assert (lock["excluded"], lock["total"], lock["ranks"]) == (True, 3, 3)
        assert [lock["function"] for lock in ranks.records(rank, "lock")] == ["flock", "fcntl"]


def test_speeds_are_of_what_was_written(healthy):
    ranks, _ = healthy
    write, read, small = (ranks.one(1, kind) for kind in ("write", "read", "small"))
    assert write["bytes"] == read["bytes"] > 0
    assert 0 < write["fsync_seconds"] <= write["seconds"] and read["seconds"] > 0
    assert small["files"] == 50 and min(small["create_seconds"], small["read_seconds"], small["remove_seconds"]) > 0
    space = ranks.one(1, "space")
    assert (
        0 < space["bytes_free"] <= space["bytes_total"] and space["type"] and space["mount"] and not space["read_only"]
    )


def test_a_checkpoint_of_all_ranks_comes_back_equal(healthy):
    ranks, _ = healthy
    if not importlib.util.find_spec("numpy"):
        assert "NumPy" in ranks.one(0, "unsupported")["text"]
        pytest.skip("torch.distributed.checkpoint needs NumPy: pip install numpy")
    for rank in range(3):
        record = ranks.one(rank, "checkpoint")
        assert record["equal"] and not record["error"] and record["save_seconds"] > 0


def test_nothing_is_left(healthy):
    ranks, folder = healthy
    assert all(ranks.one(rank, "removed")["ok"] for rank in range(3))
    assert not list(folder.iterdir())


def test_a_killed_step_leaves_nothing_either(start, tmp_path):
    ranks = start("storage", 1, level="standard", patch=SLOW, storage_paths=[str(tmp_path)])
    ranks.until(lambda: list(tmp_path.iterdir()))
    os.kill(ranks.child(0), signal.SIGKILL)
    ranks.wait()
    ends = time.monotonic() + 10
    while list(tmp_path.iterdir()):
        assert time.monotonic() < ends, list(tmp_path.iterdir())
        time.sleep(0.02)


def test_a_path_that_is_not_there_is_named_and_the_next_is_probed(start, tmp_path):
    paths = [str(tmp_path / "nowhere"), str(tmp_path)]
    ranks = start("storage", 2, storage_paths=paths).wait()
    for rank in range(2):
        (failed,) = ranks.records(rank, "failed")
        assert (failed["path"], failed["op"], failed["errno"]) == (paths[0], "space", "ENOENT")
        assert ranks.one(rank, "write")["path"] == paths[1]
        assert ranks.one(rank, "exit")["code"] == 0


@pytest.mark.fabric
def test_storage_that_is_not_shared_shows_on_every_rank(start, tmp_path, mounts):
    ranks = start("storage", 2, storage_paths=[str(tmp_path)], patch=MOUNT + 'mount("size=100m")').wait()
    for rank in range(2):
        seen = ranks.one(rank, "visible")
        assert (seen["seen"], seen["unseen"]) == ([], [f"node{1 - rank}"])
        assert ranks.one(rank, "exit")["code"] == 0
    assert [lock["excluded"] for lock in ranks.records(1, "lock")] == [False, False]
    assert [lock["total"] for lock in ranks.records(1, "lock")] == [1, 1]


@pytest.mark.fabric
@pytest.mark.parametrize(
    ("options", "flags", "op", "name"),
    [
        ("size=512k", 0, "write", "ENOSPC"),
        ("size=100m,nr_inodes=3", 0, "small", "ENOSPC"),
        ("size=1m", 1, "folder", "EROFS"),
    ],
    ids=["full", "no inodes", "read-only"],
)
def test_one_bad_node_is_told_apart_and_the_rest_goes_on(start, tmp_path, mounts, options, flags, op, name):
    patch = MOUNT + f"if rank == 1: mount({options!r}, {flags})"
    ranks = start("storage", 2, storage_paths=[str(tmp_path)], patch=patch).wait()
    assert failures(ranks, 1)[op] == name
    assert failures(ranks, 0) == {}
    put = op != "folder" and "put" not in failures(ranks, 1)
    assert ranks.one(0, "visible")["unseen"] == (["node1"] if put else [])
    assert [ranks.one(rank, "exit")["code"] for rank in range(2)] == [0, 0]
    assert ranks.one(1, "space")["read_only"] is bool(flags)


def test_slow_storage_is_measured_with_fewer_bytes(start, tmp_path):
    ranks = start("storage", 1, level="standard", patch=SLOW, storage_paths=[str(tmp_path)]).wait()
    write = ranks.one(0, "write")
    assert 1 << 20 <= write["bytes"] < 16 << 20
    assert write["bytes"] / write["seconds"] == pytest.approx(4e6, rel=0.3)


def test_a_replacement_that_can_be_seen_half_done_is_counted(start, tmp_path):
    ranks = start("storage", 2, patch=TORN, storage_paths=[str(tmp_path)]).wait()
    replaced = ranks.one(0, "replaced")
    assert replaced["peer"] == "node1" and replaced["torn"] > 0


def test_blocks_that_are_not_what_the_peer_wrote_are_counted(start, tmp_path):
    ranks = start("storage", 3, patch=FOREIGN, storage_paths=[str(tmp_path)]).wait()
    assert set(ranks.one(0, "visible")["wrong_blocks"]) == {"node1"}
    assert ranks.one(1, "visible")["wrong_blocks"] == {}


def test_locks_that_do_not_exclude_are_found(start, tmp_path):
    ranks = start("storage", 2, patch=NO_LOCKS, storage_paths=[str(tmp_path)]).wait()
    assert {lock["function"]: lock["excluded"] for lock in ranks.records(1, "lock")} == {"flock": False, "fcntl": True}
