"""What one node does with files: space, speed of large and small ones, locks, looking for others'. No framework."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

BLOCK_BYTES = 1 << 20
SMALL_BYTES = 4096
LOOK_SECONDS = 1.0  # for others' files, between meetings
LOCK_SECONDS = 5.0


def space(path: Path) -> dict[str, Any]:
    """What holds the path and what is left there, for this user; OSError if there is no such place."""
    stat = os.statvfs(path)
    return {
        "bytes_total": stat.f_blocks * stat.f_frsize,
        "bytes_free": stat.f_bavail * stat.f_frsize,
        "inodes_total": stat.f_files,  # 0: the file system has no fixed number of them
        "inodes_free": stat.f_favail,
        "read_only": bool(stat.f_flag & os.ST_RDONLY),
        "device": path.stat().st_dev,
        **mount_of(path),
    }


def mount_of(path: Path) -> dict[str, str]:
    """Type, source and mount point of the file system that holds the path. Source: proc(5), mountinfo."""
    target, found = str(path.resolve()), {"type": "", "source": "", "mount": ""}
    for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines():
        left, _, right = line.partition(" - ")
        mount = left.split()[4].encode().decode("unicode_escape")  # a space is written as \040
        inside = target == mount or target.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(found["mount"]):  # of equal mounts the later covers the earlier
            kind, source = right.split()[:2]
            found = {"type": kind, "source": source, "mount": mount}
    return found


@contextmanager
def aligned(size: int) -> Iterator[mmap.mmap]:
    """A buffer that starts on a page, as O_DIRECT wants it."""
    buffer = mmap.mmap(-1, size)
    try:
        yield buffer
    finally:
        buffer.close()


def content(name: str, index: int) -> bytes:
    """The start of a block: whose it is and which."""
    return f"{name} {index:012d}\n".encode()


def write(path: Path, name: str, size: int) -> dict[str, float]:
    """Write that many bytes in blocks and make them durable; the seconds of both, and of the second alone.

    Without the fsync only the speed of memory would be measured. The blocks are random, so that nothing can shrink
    them, and each begins with its name and number, so that a reader can tell whose they are.
    """
    with aligned(BLOCK_BYTES) as block:
        block.write(os.urandom(BLOCK_BYTES))
        with path.open("wb", buffering=0) as file:
            started = time.perf_counter()
            for index in range(size // BLOCK_BYTES):
                head = content(name, index)
                block[: len(head)] = head
                _whole(file.fileno(), block)
            written = time.perf_counter()
            os.fsync(file.fileno())
            ended = time.perf_counter()
    return {"seconds": ended - started, "fsync_seconds": ended - written}


def _whole(fd: int, block: mmap.mmap) -> None:
    view = memoryview(block)
    try:
        while view:
            view = view[os.write(fd, view) :]
    finally:
        view.release()


def read(path: Path) -> dict[str, Any]:
    """Read a file to its end past the page cache where the file system lets us; says whether it did.

    Otherwise the cache is asked to forget the file, which it does where its pages are clean; memory file systems never.
    """
    fd, direct = _open_cold(path)
    try:
        with aligned(BLOCK_BYTES) as block:
            started, total = time.perf_counter(), 0
            while count := os.readv(fd, [block]):
                total += count
            return {"bytes": total, "seconds": time.perf_counter() - started, "direct": direct}
    finally:
        os.close(fd)


def _open_cold(path: Path) -> tuple[int, bool]:
    with suppress(OSError):  # EINVAL: not every file system can
        return os.open(path, os.O_RDONLY | os.O_DIRECT), True
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return fd, False


def wrong_blocks(path: Path, name: str, size: int) -> int:
    """How many blocks of a file are not the ones that `write` left there under that name."""
    wrong = 0
    with path.open("rb", buffering=0) as file:
        for index in range(size // BLOCK_BYTES):
            head = content(name, index)
            wrong += os.pread(file.fileno(), len(head), index * BLOCK_BYTES) != head
        return wrong + (os.fstat(file.fileno()).st_size != size)


def small_files(folder: Path, count: int) -> dict[str, float]:
    """Make, read and remove that many files of 4 KiB in a new folder; the seconds of each."""
    folder.mkdir()
    marks = [time.perf_counter()]
    data = os.urandom(SMALL_BYTES)
    paths = [folder / f"{number:06d}" for number in range(count)]
    for act in (lambda path: path.write_bytes(data), Path.read_bytes, Path.unlink):
        for path in paths:
            act(path)
        marks.append(time.perf_counter())
    folder.rmdir()
    names = ("create_seconds", "read_seconds", "remove_seconds")
    return {name: end - begin for name, begin, end in zip(names, marks, marks[1:], strict=False)}


class Look:
    """For the small files of other ranks: which are here, and since when."""

    def __init__(self, wanted: dict[int, str]) -> None:
        self.wanted, self.left, self.seen = wanted, dict(wanted), dict[str, float]()
        self.started = time.monotonic()

    def on(self, path_of: Callable[[int], Path]) -> None:
        """Look for those that are left, for a while."""
        ends = time.monotonic() + LOOK_SECONDS
        while self.left and time.monotonic() < ends:
            for rank, name in list(self.left.items()):
                if text_of(path_of(rank)) == f"{name} first":
                    self.seen[name] = time.monotonic() - self.started
                    del self.left[rank]
            time.sleep(0.01 if self.left else 0)


class Lock:
    """A lock on a file, by one of the two functions that there are."""

    def __init__(self, path: Path, function: Callable[[int, int], None]) -> None:
        self._path, self._function, self._fd = path, function, -1

    def open(self, take: bool) -> None:
        """Open the file, and take the lock if told to; OSError if somebody has it, or if there are no locks here."""
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        if take:
            self._function(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def take(self) -> bool:
        """Whether we get it at once."""
        try:
            self._function(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # EAGAIN, or EACCES by older systems
            return False
        return True

    def release(self) -> None:
        """Also if we don't have it."""
        self._function(self._fd, fcntl.LOCK_UN)

    def count(self) -> None:
        """Make the file longer by one under the lock, in two acts that another rank could come between."""
        ends = time.monotonic() + LOCK_SECONDS
        while not self.take():
            if time.monotonic() > ends:
                raise TimeoutError(errno.ETIMEDOUT, f"no lock within {LOCK_SECONDS:g} s")
            time.sleep(0.005)
        length = self.size()
        time.sleep(0.002)
        os.pwrite(self._fd, b"x", length)
        os.fsync(self._fd)
        self.release()

    def size(self) -> int:
        """How often all ranks together have counted."""
        return os.fstat(self._fd).st_size

    def close(self) -> None:
        """Of whatever was opened."""
        if self._fd >= 0:
            os.close(self._fd)


def text_of(path: Path) -> str | None:
    try:
        return path.read_text()
    except FileNotFoundError:
        return None
