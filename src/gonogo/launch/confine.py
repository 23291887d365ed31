"""Control groups, of version 1 or 2, that hold a node's processes to the limits of a pod."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gonogo.launch.leftovers import CGROUPS

_PERIOD_US = 100_000


def confine(name: str, cpus: float, memory_bytes: int) -> list[str]:
    """Make groups of that name with these limits, 0 for none; gives their folders. Raises OSError."""
    quota = max(1000, int(cpus * _PERIOD_US))
    if (CGROUPS / "cgroup.controllers").exists():
        wanted = {"cpu.max": f"{quota} {_PERIOD_US}"} if cpus else {}
        wanted |= {"memory.max": str(memory_bytes)} if memory_bytes else {}
        return [_make(CGROUPS / name, wanted)] if wanted else []
    made = []
    if cpus:
        settings = {"cpu.cfs_period_us": str(_PERIOD_US), "cpu.cfs_quota_us": str(quota)}
        made.append(_make(CGROUPS / "cpu" / name, settings))
    if memory_bytes:
        made.append(_make(CGROUPS / "memory" / name, {"memory.limit_in_bytes": str(memory_bytes)}))
    return made


def _make(folder: Path, settings: dict[str, str]) -> str:
    folder.mkdir(exist_ok=True)
    for name, value in settings.items():
        (folder / name).write_text(value)
    return str(folder)


def enter(folders: Iterable[str]) -> None:
    """Move this process into the groups."""
    for folder in folders:
        Path(folder, "cgroup.procs").write_text("0")
