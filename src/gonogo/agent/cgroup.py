"""What the control group of this process may use and has used, of version 1 or 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

NO_LIMIT = 1 << 60  # version 1 writes a number near 2**63 for "no limit"


def folders(controller: str) -> Iterator[tuple[Path, bool]]:
    """Where the files of this process's group may be, and whether they are of version 2; its own folder comes first.

    In a container the own group may be mounted as the root. Source: cgroups(7).
    """
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            if kinds and controller not in kinds.split(","):
                continue
            root = f"/sys/fs/cgroup/{controller}" if kinds else "/sys/fs/cgroup"
            yield Path(f"{root}{path}"), not kinds
            yield Path(root), not kinds


def oom_kills() -> int | None:
    """How often the kernel has killed a process of this group for memory; None if it doesn't say."""
    for folder, new in folders("memory"):
        with suppress(OSError, KeyError, ValueError):
            rows = (folder / ("memory.events" if new else "memory.oom_control")).read_text().splitlines()
            return int(dict(row.split() for row in rows)["oom_kill"])
    return None


def memory_bytes() -> tuple[int | None, int]:
    """What the group uses now, None if it isn't told; and how much it may, 0 for no limit."""
    for folder, new in folders("memory"):
        names = ("memory.current", "memory.max") if new else ("memory.usage_in_bytes", "memory.limit_in_bytes")
        used, limit = (_number(folder / name) for name in names)
        if used is not None:
            return used, limit if limit and limit < NO_LIMIT else 0
    return None, 0


def processes() -> tuple[int | None, int]:
    """How many processes and threads the group has, None if it isn't told; and how many it may, 0 for no limit."""
    for folder, _ in folders("pids"):
        used = _number(folder / "pids.current")
        if used is not None:
            return used, _number(folder / "pids.max") or 0
    return None, 0


def cpus() -> float:
    """How many CPUs' time the group may use; 0 for no limit."""
    for folder, new in folders("cpu"):
        with suppress(OSError, ValueError):
            if new:
                quota, period = (folder / "cpu.max").read_text().split()
            else:
                quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
            return max(0.0, int(quota) / int(period))
    return 0.0


def _number(path: Path) -> int | None:
    """None where the file isn't there or says `max`."""
    with suppress(OSError, ValueError):
        return int(path.read_text())
    return None
