"""The system calls behind a local fabric: Python 3.11 has none of unshare, setns, mount and prctl."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
"""Kinds of namespaces: mount, host name, IPC, user, process ids, network (sched.h)."""

_BIND, _REC, _PRIVATE = 4096, 16384, 1 << 18  # mount.h
_SET_PDEATHSIG, _SET_NAME, _SET_CHILD_SUBREAPER = 1, 15, 36  # prctl.h
_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: str | int | None) -> None:
    encoded = [os.fsencode(a) if isinstance(a, str) else a for a in arguments]
    if getattr(_libc, name)(*encoded) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def unshare(kinds: int) -> None:
    """Leave the given namespaces for new ones; NEWPID concerns the children only. Raises OSError."""
    _call("unshare", kinds)


def enter(descriptor: int) -> None:
    """Enter the namespace that the descriptor holds; a mount namespace needs a process of one thread."""
    _call("setns", descriptor, 0)


def become_root_of_user_namespace(kinds: int) -> None:
    """Leave user and other namespaces for new ones in which this user, and no other, is root."""
    user, group = os.getuid(), os.getgid()
    unshare(NEWUSER | kinds)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        Path(f"/proc/self/{name}").write_text(text)


def mount(kind: str, at: str, options: str = "") -> None:
    """Mount a new file system, such as tmpfs or proc."""
    _call("mount", kind, at, kind, 0, options or None)


def bind(source: str, at: str) -> None:
    """Show a file or folder at a second place."""
    _call("mount", source, at, None, _BIND, None)


def keep_mounts_private() -> None:
    """Mounts from here on are seen in this mount namespace only."""
    _call("mount", None, "/", None, _REC | _PRIVATE, None)


def die_with_parent() -> None:
    """SIGKILL for this process as soon as the thread that forked it has ended."""
    _call("prctl", _SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def adopt_orphans() -> None:
    """Processes whose parents die become children of this one, so that none can get away."""
    _call("prctl", _SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def set_name(name: str) -> None:
    """What ps, top and pgrep call this process; cut off after 15 bytes."""
    _call("prctl", _SET_NAME, name, 0, 0, 0)
