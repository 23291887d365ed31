"""What a child did with its CPUs in its last seconds: one that hangs sleeps, one on a busy machine waits for a CPU."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LAST_SECONDS = 5


class Effort:
    """How long a process and its children ran, and how long they could have run and had no CPU.

    From their threads' schedstat; where the kernel keeps none, nothing is told.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._threads: dict[int, tuple[int, int]] = {}
        self._looks: deque[tuple[float, int, int]] = deque(maxlen=LAST_SECONDS + 1)
        """When; ns that its threads ran, and waited, since the look before: those that end take their counts along."""

    def look(self) -> None:
        """Called often; looks once a second."""
        now = time.monotonic()
        if self._looks and now < self._looks[-1][0] + 1:
            return
        ran = waited = 0
        threads = dict(_schedstats(self._pid))
        for thread, counts in threads.items():
            before = self._threads.get(thread, (0, 0))
            ran, waited = ran + counts[0] - before[0], waited + counts[1] - before[1]
        if threads:
            self._looks.append((now, ran, waited))
        self._threads = threads

    def told(self) -> dict[str, float]:
        """Fields for a record: of so many seconds it ran that many and waited that many, over all threads."""
        if len(self._looks) < 2:
            return {}
        (began, *_), *later = self._looks
        spent = {
            "looked": later[-1][0] - began,
            "ran": sum(ran for _, ran, _ in later) * 1e-9,
            "waited": sum(waited for *_, waited in later) * 1e-9,
        }
        return {f"{name}_seconds": round(seconds, 3) for name, seconds in spent.items()}


def _schedstats(pid: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Of each thread of it and of its children; those that end meanwhile are left out."""
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError, ValueError):
                ran, waited, _ = (task / "schedstat").read_text().split()
                yield int(task.name), (int(ran), int(waited))
                for child in (task / "children").read_text().split():
                    yield from _schedstats(int(child))
