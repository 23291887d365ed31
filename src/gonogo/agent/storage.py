"""Step `storage`: what training asks of shared storage, by all ranks at once, in a folder of this run alone."""

from __future__ import annotations

import errno
import fcntl
import importlib.util
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint

from gonogo.agent import files
from gonogo.agent.group import Group, StepWriter, clean, process_group
from gonogo.agent.spec import Spec

BYTES = {"quick": 8 << 20, "standard": 32 << 20, "deep": 1 << 30}  # of each rank's large file
SMALL_FILES = {"quick": 50, "standard": 200, "deep": 2000}
CHECKPOINT_BYTES = {"quick": 1 << 20, "standard": 8 << 20, "deep": 256 << 20}  # of each rank
SHARE_OF_SPACE = 0.25  # at most this much of what is free, by all ranks together
LARGE_SECONDS = 2.0  # about how long the large file may take to write
REMOTE = ("nfs", "lustre", "fuse", "ceph", "cifs", "smb", "9p", "beegfs", "gpfs", "wekafs", "virtiofs")
REMOTE_SECONDS = 35.0  # how long others' files may take to appear; nfs(5): a directory is cached for 30 s by default
LOCAL_SECONDS = 2.0  # where one kernel has them all, or nobody shares anything
REPLACED = 50
OVERLAP_SECONDS = 0.3  # at least: a reader on a fast disk would be through before the writer has begun
REPLACE_SECONDS = 3.0  # at most
PEERS = 16  # others whose files a rank looks for; with more ranks each is still looked for by as many


def run(spec: Spec, rank: int, members: list[str], log: StepWriter) -> None:
    """Probe every path in turn; an operation that fails is a record, and the rest goes on."""
    folders = [Path(path) / f".gonogo-{re.sub('[^A-Za-z0-9_-]', '_', spec.run)}" for path in spec.storage_paths]
    _clean_up_after(folders)
    with process_group(spec, members, log) as group:
        for folder in folders:
            Probe(folder, spec, group, log).run()


def _clean_up_after(folders: list[Path]) -> None:
    """Fork a process that removes the folders when this one is gone, even if it is killed.

    It sees our end as that of a pipe which only we hold, and is in a session of its own, which spares it what ends us.
    """
    ours, _held_until_the_end = os.pipe()
    if os.fork():
        os.close(ours)  # the other end closes with this process, however it ends
        return
    try:
        os.setsid()
        os.dup2(ours, 0)
        os.closerange(1, os.sysconf("SC_OPEN_MAX"))
        os.read(0, 1)
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os._exit(0)


class Probe:
    """One path, probed by all ranks; they meet between operations, whatever became of each."""

    def __init__(self, folder: Path, spec: Spec, group: Group, log: StepWriter) -> None:
        self._folder, self._path, self._group, self._log = folder, folder.parent, group, log
        self._level = spec.level if spec.level in BYTES else "standard"
        self._name = group.members[group.rank]
        self._usable, self._kind = True, ""
        self._bytes = 0

    def run(self) -> None:
        """All operations, in order, and the folder's removal."""
        self._try("space", self._space, fatal=True)
        self._try("folder", lambda: self._folder.mkdir(exist_ok=True), fatal=True)
        self._meet()
        self._large()
        self._try("small", self._small)
        self._visible()
        self._replaced()
        for kind in ("flock", "fcntl"):
            self._locked(kind)
        self._checkpoint()
        self._remove()

    def _write(self, kind: str, **fields: Any) -> None:
        self._log.write(kind, path=str(self._path), **fields)

    def _meet(self) -> None:
        """Wait for the others; a rank whose last `at` is this one waits for one whose last isn't."""
        self._log.at("meet", path=str(self._path))
        dist.barrier()

    def _try(self, op: str, act: Callable[[], object], fatal: bool = False) -> bool:
        """Do it, unless the path is no good; an OSError becomes a record."""
        if not self._usable:
            return False
        self._log.at(op, path=str(self._path))
        try:
            act()
        except OSError as error:
            name = errno.errorcode.get(error.errno or 0, "")
            self._write("failed", op=op, errno=name, text=clean(error.strerror or str(error)))
            self._usable = self._usable and not fatal
            return False
        return True

    def _everyone(self, well: bool) -> bool:
        """Whether it is well with all ranks; all of them hear the same."""
        return self._group.greatest(0.0 if well else 1.0) == [0.0]

    def _space(self) -> None:
        space = files.space(self._path)
        self._kind = str(space["type"])
        self._write("space", **space)

    def _large(self) -> None:
        """One large file a rank, all at once, as a checkpoint is; a first small one tells how large it may be.

        On storage that writes 2 MB/s the full size would take minutes: fewer bytes give the same number.
        """
        own, first = self._folder / f"large-{self._group.rank}", 2.0**63
        seconds = [LARGE_SECONDS]

        def trial() -> None:
            seconds[0] = files.write(own, self._name, files.BLOCK_BYTES)["seconds"]

        if self._try("write", trial):
            free = int(files.space(self._path)["bytes_free"])
            first = min(LARGE_SECONDS / seconds[0] * files.BLOCK_BYTES, free * SHARE_OF_SPACE / self._group.size)
        least = -self._group.greatest(-first)[0]
        size = min(BYTES[self._level], int(least))
        self._bytes = max(1, size // files.BLOCK_BYTES) * files.BLOCK_BYTES
        self._meet()
        self._try("write", lambda: self._write("write", bytes=self._bytes, **files.write(own, self._name, self._bytes)))
        self._meet()
        self._try("read", lambda: self._write("read", **files.read(own)))

    def _small(self) -> None:
        count = SMALL_FILES[self._level]
        folder = self._folder / f"small-{self._group.rank}"
        self._write("small", files=count, bytes=files.SMALL_BYTES, **files.small_files(folder, count))

    def _others(self) -> list[int]:
        """The ranks after this one, around the end."""
        size = self._group.size
        return [(self._group.rank + step) % size for step in range(1, min(size, PEERS + 1))]

    def _visible(self) -> None:
        """Each rank puts a file in place, all meet, and each looks for the others' from then on.

        Looking before they are there makes a client remember that they aren't, as a rank that waits for a checkpoint
        does. A file's lateness counts from the meeting, after which all of them exist. File servers are given as long
        as their clients may keep what they know; ranks meet in between, so that none waits too long for the others.
        """
        self._try("visible", lambda: [self._token(rank).exists() for rank in self._others()])
        self._meet()
        well = self._try("put", lambda: self._put(self._token(self._group.rank), f"{self._name} first"))
        there = self._group.greatest(*(float(well and rank == self._group.rank) for rank in range(self._group.size)))
        patience = self._group.greatest(REMOTE_SECONDS if self._kind.startswith(REMOTE) else LOCAL_SECONDS)[0]
        look = files.Look({rank: self._group.members[rank] for rank in self._others() if there[rank] and self._usable})
        spent, unfinished = 0.0, 1.0
        while unfinished and spent < patience:
            self._try("visible", lambda: look.on(self._token))
            unfinished, spent = self._group.greatest(float(bool(look.left)), time.monotonic() - look.started)
        self._try("visible", lambda: self._compare(look))
        self._meet()

    def _compare(self, look: files.Look) -> None:
        """Whether the large files of those whose small file is here are as they were written."""
        wrong = {}
        for rank, name in look.wanted.items():
            path = self._folder / f"large-{rank}"
            if name in look.seen and path.exists() and (count := files.wrong_blocks(path, name, self._bytes)):
                wrong[name] = count
        unseen, latest = list(look.left.values()), max(look.seen.values(), default=0.0)
        self._write("visible", seen=sorted(look.seen), unseen=unseen, seconds=latest, wrong_blocks=wrong)

    def _token(self, rank: int) -> Path:
        return self._folder / f"token-{rank}"

    def _put(self, path: Path, text: str) -> None:
        """Whole or not at all: written beside, made durable, then renamed."""
        beside = path.with_suffix(".new")
        with beside.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)

    def _replaced(self) -> None:
        """Each rank replaces its file again and again while its neighbour reads it: never missing, and never torn."""
        neighbour = (self._group.rank + 1) % self._group.size

        def replace_and_read() -> None:
            missing = torn = reads = 0
            began, number = time.monotonic(), 0
            while (spent := time.monotonic() - began) < REPLACE_SECONDS:
                if number >= REPLACED and spent > OVERLAP_SECONDS:
                    break
                number += 1
                self._put(self._token(self._group.rank), f"{self._name} {number} {'x' * 4000} end")
                text = files.text_of(self._token(neighbour))
                reads += 1
                missing += text is None
                torn += text is not None and not text.endswith((" end", " first"))
            self._write("replaced", peer=self._group.members[neighbour], reads=reads, missing=missing, torn=torn)

        self._try("replace", replace_and_read)
        self._meet()

    def _locked(self, kind: str) -> None:
        """Rank 0 holds a lock while the others try for it; then all count up one number under it, one by one."""
        lock = files.Lock(self._folder / f"lock-{kind}", {"flock": fcntl.flock, "fcntl": fcntl.lockf}[kind])
        first = self._group.rank == 0
        told: dict[str, Any] = {"excluded": None, "total": None}
        well = self._try(kind, lambda: lock.open(take=first))
        if self._everyone(well):
            self._try(kind, lambda: told.update(excluded=first or not lock.take()))
            self._meet()
            self._try(kind, lock.release)
            self._meet()
            self._try(kind, lock.count)
            self._meet()
            self._try(kind, lambda: told.update(total=lock.size()))
            self._write("lock", function=kind, ranks=self._group.size, **told)
            self._meet()
        lock.close()

    def _checkpoint(self) -> None:
        """All ranks save a part each with torch.distributed.checkpoint, and load it back equal."""
        if not self._everyone(self._usable):
            return
        if not self._everyone(bool(importlib.util.find_spec("numpy"))):
            self._write("unsupported", op="checkpoint", text="torch.distributed.checkpoint needs NumPy: not installed.")
            return
        size = min(CHECKPOINT_BYTES[self._level], self._bytes)
        generator = torch.Generator().manual_seed(self._group.rank)
        key, folder = f"part{self._group.rank}", str(self._folder / "checkpoint")
        part = torch.randn(size // 4, generator=generator)
        self._log.at("checkpoint", path=str(self._path))
        started = time.perf_counter()
        fields: dict[str, Any] = {"bytes": size * self._group.size, "save_seconds": 0.0, "load_seconds": 0.0}
        error, equal = "", False
        try:
            checkpoint.save({key: part}, checkpoint_id=folder)
            saved = time.perf_counter()
            fields["save_seconds"] = saved - started
            back = {key: torch.zeros_like(part)}
            checkpoint.load(back, checkpoint_id=folder)
            fields["load_seconds"] = time.perf_counter() - saved
            equal = bool(torch.equal(part, back[key]))
        except (OSError, RuntimeError, checkpoint.CheckpointException) as problem:
            error = clean(str(problem))
        self._write("checkpoint", equal=equal, error=error, **fields)

    def _remove(self) -> None:
        """What this run made here; every rank tries, since what looks like one folder may be several."""
        self._log.at("remove", path=str(self._path))
        for _ in range(2):  # others remove the same files: what one finds gone the second look finds gone as a whole
            shutil.rmtree(self._folder, ignore_errors=True)
            self._meet()
        self._write("removed", ok=not os.path.lexists(self._folder))
