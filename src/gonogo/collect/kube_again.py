"""A job that runs, read a second time: what its logs gained in between tells how fast it goes, or that it hangs.

The new lines follow the old ones in the logs, new events are a document of their own, and `readings.json` says how
much came in how many seconds, log by log: a log that gained nothing is told from one that was not read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from gonogo.collect.kube_family import Container, Dict

READINGS = "readings.json"
EVENTS_AGAIN = "kubernetes/events-again.json"
LINES_OF_PACE = 200  # at the end of a log, whose gaps tell how often it writes
AGAIN_SECONDS = 15.0
"""Between both: a few steps of most trainings, and as long as a person waits without a word."""


@dataclass(slots=True)
class Seen:
    """How far one log was read."""

    container: Container
    lines: int = 0
    last: bytes = b""  # the stamp of its last line
    longest_gap_seconds: float | None = None  # between two of the last lines that were read first
    gained: int | None = None  # lines that the second reading added; None: there was none

    def take(self, line: bytes) -> bool:
        """Whether this line comes after those that were read."""
        stamp = line.partition(b" ")[0]
        if self.last and _moment(stamp) <= _moment(self.last):
            return False
        self.gained = (self.gained or 0) + 1
        self.last = stamp
        return True

    @classmethod
    def of(cls, container: Container, lines: Sequence[bytes]) -> Seen:
        """By the lines of the first reading."""
        stamps = [line.partition(b" ")[0] for line in lines]
        times = [t for stamp in stamps[-LINES_OF_PACE:] if (t := seconds_of(stamp)) is not None]
        gap = max((later - before for before, later in pairwise(times)), default=None)
        return cls(container, len(lines), stamps[-1] if stamps else b"", None if gap is None else round(gap, 1))

    def silent_seconds(self, now: float) -> float | None:
        """How long ago, by this machine's clock, its last line was written."""
        last = seconds_of(self.last)
        return None if last is None else round(max(0.0, now - last), 1)

    @property
    def since(self) -> str:
        """From where to ask on: the API knows whole seconds."""
        return self.last.partition(b".")[0].decode(errors="replace").rstrip("Z") + "Z" if self.last else ""


@dataclass(slots=True)
class Readings:
    """Both readings of all logs, by their files' names."""

    logs: dict[str, Seen] = field(default_factory=dict)

    def document(self, seconds: float, now: float) -> dict[str, Any]:
        """What `readings.json` says; `now` is when the second reading ended."""
        rows = [
            {"log": name, "pod": seen.container.pod, "container": seen.container.name, "lines": seen.lines,
             "gained": seen.gained, "last": seen.last.decode(errors="replace"),
             "longest_gap_seconds": seen.longest_gap_seconds, "silent_seconds": seen.silent_seconds(now)}
            for name, seen in sorted(self.logs.items())
        ]  # fmt: skip
        return {"apiVersion": "gonogo/v1", "kind": "Readings", "seconds": round(seconds, 1), "logs": rows}

    def note(self, seconds: float) -> str:
        """In a sentence."""
        again = {name: seen.gained for name, seen in self.logs.items() if seen.gained is not None}
        silent = [name for name, gained in again.items() if not gained]
        some = f"{len(again) - len(silent)} of {len(again)} logs grew in {seconds:.0f} s"
        few = f", not {', '.join(sorted(silent)[:3])}{' …' if len(silent) > 3 else ''}" if silent else ""
        return f"{some}, by {sum(again.values())} lines{few}."


def seconds_of(stamp: bytes) -> float | None:
    """Seconds since the epoch, of a time as the kubelet stamps lines; None for what is none."""
    try:
        return datetime.fromisoformat(stamp.decode()).timestamp()
    except ValueError:
        return None


def goes_on(pods: Iterable[Dict], containers: Iterable[Container]) -> bool:
    """Whether all containers run and none failed: what went wrong, if anything, isn't over."""
    states = [
        one.get("state") or {} for p in pods for one in (p.get("status") or {}).get("containerStatuses") or []
    ]  # fmt: skip
    return bool(states) and all("running" in s for s in states) and not any(c.failed for c in containers)


def newer(events: Iterable[Dict], known: Iterable[Dict]) -> list[Dict]:
    """Events that are not known, or happened again."""
    before = {_happened(e) for e in known}
    return [e for e in events if _happened(e) not in before]


def _happened(event: Dict) -> tuple[str, ...]:
    about, meta = event.get("involvedObject") or {}, event.get("metadata") or {}
    when = (event.get("lastTimestamp"), event.get("count"), event.get("series"))
    return (str(meta.get("name")), str(about.get("name")), *map(str, when))


def _moment(stamp: bytes) -> tuple[bytes, bytes]:
    """Comparable: trailing zeros of a fraction are left out by who writes it."""
    whole, _, fraction = stamp.rstrip(b"Z").partition(b".")
    return whole, fraction.ljust(9, b"0")
