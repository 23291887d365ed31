"""What steps exchange besides facts: losses, facts about many subjects, findings so far, control of the run."""

from __future__ import annotations

import threading
import time
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from gonogo.model import Finding, FindingKey, Status, Subject

T = TypeVar("T")


class Skip(Exception):
    """Raised by a step that does not apply to this cluster; the text says why."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A fact, or one subject's part of it, that could not be had, and why.

    A collector that promised several facts yields `Lost(..., fact=X)` to give up one of them.
    """

    reason: str
    status: Status = Status.UNKNOWN
    fact: type | None = None
    traceback: str = ""


class PerNode(Generic[T]):
    """Expected subject -> T or Lost: a node that said nothing is an entry, not an absence.

    The kernel adds one finding for each lost entry to every check that reads it, so checks only walk `present`.
    """

    def __init__(self, entries: Mapping[Subject, T | Lost]) -> None:
        self._entries = dict(entries)

    @classmethod
    def of(cls, expected: Iterable[Subject], got: Mapping[Subject, T], reason: str) -> typing.Self:
        """Every expected subject, lost for `reason` where nothing was got."""
        return cls({subject: got.get(subject, Lost(reason)) for subject in expected})

    @property
    def present(self) -> dict[Subject, T]:
        """The subjects that answered, in the expected order."""
        return {s: v for s, v in self._entries.items() if not isinstance(v, Lost)}

    @property
    def lost(self) -> dict[Subject, Lost]:
        """The subjects that did not."""
        return {s: v for s, v in self._entries.items() if isinstance(v, Lost)}

    def __getitem__(self, subject: Subject) -> T | Lost:
        return self._entries[subject]

    def __iter__(self) -> Iterator[Subject]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._entries == other._entries

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._entries!r})"


class Findings(tuple[Finding, ...]):
    """All findings so far: what a cause reads besides facts."""

    def of(self, check: str, *statuses: Status) -> tuple[Finding, ...]:
        """Those of one check, of the given statuses or of any."""
        return tuple(f for f in self if f.check == check and (not statuses or f.status in statuses))

    def failed(self, *checks: str) -> tuple[Finding, ...]:
        """The fails of the given checks, or of all."""
        return tuple(f for f in self if f.status is Status.FAIL and (not checks or f.check in checks))

    def keys(self, *checks: str) -> tuple[FindingKey, ...]:
        """The keys of what isn't green (fail, unknown, warn) in the given checks, or in all."""
        bad = (Status.FAIL, Status.UNKNOWN, Status.WARN)
        return tuple(dict.fromkeys(f.key for f in self if f.status in bad and (not checks or f.check in checks)))


@dataclass(frozen=True, slots=True)
class Progress:
    """A collector's word on where it is, for people who watch."""

    text: str
    done: float = 0
    total: float = 0


@dataclass(slots=True)
class Control:
    """What a running collector may ask of its run; ask for it by type, like a fact."""

    wanted: frozenset[type]
    stopped: threading.Event
    progress: Callable[[Progress], None]
    deadline: float = float("inf")  # time.monotonic()

    def remaining(self) -> float:
        """Seconds left to the run, never below 0."""
        return max(0.0, self.deadline - time.monotonic())
