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
        self._looks: deque[tuple[float, int, int]] = deque(maxlen=LAST_SECONDS + 1)  # when; ns that it ran, and waited

    def look(self) -> None:
        """Called often; looks once a second."""
        now = time.monotonic()
        if self._looks and now < self._looks[-1][0] + 1:
            return
        counts = list(_schedstats(self._pid))
        if counts:
            self._looks.append((now, sum(ran for ran, _ in counts), sum(waited for _, waited in counts)))

    def told(self) -> dict[str, float]:
        """Fields for a record: of so many seconds it ran that many and waited that many, over all threads."""
        if len(self._looks) < 2:
            return {}
        first, last = self._looks[0], self._looks[-1]
        spent = {
            "looked": last[0] - first[0],
            "ran": (last[1] - first[1]) * 1e-9,
            "waited": (last[2] - first[2]) * 1e-9,
        }
        return {f"{name}_seconds": round(max(0.0, seconds), 3) for name, seconds in spent.items()}


def _schedstats(pid: int) -> Iterator[tuple[int, int]]:
    """Of each thread of it and of its children; those that end meanwhile are left out."""
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError, ValueError):
                ran, waited, _ = (task / "schedstat").read_text().split()
                yield int(ran), int(waited)
                for child in (task / "children").read_text().split():
                    yield from _schedstats(int(child))
