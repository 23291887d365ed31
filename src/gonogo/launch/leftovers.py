"""What a run on this machine can leave behind if its guard is killed, known by the guard's tag in its name.

Control groups; on loopback addresses also a temporary folder, and processes that don't watch their parents.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
_MEMORY = "/memfd:"
_NAME = re.compile(r"gonogo-(\d+)-(\d+)-(\d+)(-.*)?")


def tag(pid: int | None = None) -> str:
    """How the names of all that a process makes begin: where its id counts, its id, and when it started."""
    pid = pid or os.getpid()
    return f"gonogo-{_pid_namespace()}-{pid}-{_start_ticks(pid)}"


def _pid_namespace() -> str:
    """Ids mean nothing to other containers, which may see the same folders."""
    return str(Path("/proc/self/ns/pid").stat().st_ino)


def _start_ticks(pid: int) -> str:
    """When the process started, in clock ticks after boot; "" if it lives no more."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    state, *fields = text.rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]


def remove_of(name: str) -> list[str]:
    """Remove the control groups and temporary folders whose names begin with this tag; returns their paths."""
    return [str(path) for path in _candidates() if path.name.startswith(name) and _remove(path)]


def remove_dead() -> list[str]:
    """Remove what processes left that live no more; returns what it was, such as a path."""
    ended: dict[str, None] = {}
    while found := [pid for pid in _orphans() if _kill(pid)]:  # again: one may have forked before it was killed
        ended.update({f"process {pid}": None for pid in found})
    return [*ended, *(str(path) for path in _candidates() if _is_dead(path.name) and _remove(path))]


def _orphans() -> Iterator[int]:
    """Processes that still hold the standard error, a file in memory, of a run whose guard is dead."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile, or another user's
            targets = {str((folder / "fd" / number).readlink()) for number in ("1", "2")}
            names = {target.removeprefix(_MEMORY).partition(" ")[0] for target in targets if target.startswith(_MEMORY)}
            if any(_is_dead(name) for name in names):
                yield int(folder.name)


def _kill(pid: int) -> bool:
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def _is_dead(name: str) -> bool:
    found = _NAME.fullmatch(name)
    return found is not None and found[1] == _pid_namespace() and _start_ticks(int(found[2])) != found[3]


def _candidates() -> Iterator[Path]:
    """Own folders with our kind of name; links, and folders of other users, are left alone."""
    for pattern, root in (("*/gonogo-*", CGROUPS), ("gonogo-*", CGROUPS), ("gonogo-*", Path(tempfile.gettempdir()))):
        for path in sorted(root.glob(pattern)):
            with contextlib.suppress(OSError):
                owned = path.lstat().st_uid == os.geteuid()
                if owned and path.is_dir() and not path.is_symlink() and _NAME.fullmatch(path.name):
                    yield path


def _remove(path: Path) -> bool:
    try:
        if CGROUPS in path.parents:
            path.rmdir()
        else:
            shutil.rmtree(path)
    except OSError:
        return False
    return True
