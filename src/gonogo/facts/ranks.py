"""What the framework's processes did, alike for collectives and training: joined, failed, ended."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from gonogo.documents.records import Record
from gonogo.facts.fields import number, text, texts, whole
from gonogo.model import Evidence, Subject, node

_SOURCE = re.compile(r"\[(?:enforce fail at )?[\w/.-]*/([\w-]+\.\w+:\d+)\]")

KINDS = ("init", "at", "op", "step", "parameters", "reproduction", "summary", "cut", "unsupported", "error", "exit")
"""Records that a process writes, or its agent about it."""

MOST_RANKS = 128
"""Of one node; a record that tells more is wrong."""
LEAST_EFFORT = 0.2
"""A process that hangs wants a CPU for less of its last seconds; one that works, for more."""
OF_RANK = "of_rank"
"""The field that tells the records of one node's ranks apart, where it has several."""


def spelled(name: str, number: int | None) -> str:
    """A rank by its node: node1, or node1 rank 3 where the node has several."""
    return name if number is None else f"{name} rank {number}"


def node_of(rank: str) -> str:
    """The node of a rank that is spelled so."""
    return rank.partition(" rank ")[0]


def subject_of(name: str, number: int | None) -> Subject:
    """A rank stands for its node, unless the node has several: rank/node1/3."""
    return node(name) if number is None else Subject("rank", f"{name}/{number}")


def said(subject: Subject) -> str:
    """The subject as its rank is spelled."""
    name, _, number = subject.name.partition("/")
    return f"{name} rank {number}" if subject.kind == "rank" and number else subject.name


def home(subject: Subject) -> Subject:
    """The node of a rank; any other subject is its own."""
    name, _, number = subject.name.partition("/")
    return node(name) if subject.kind == "rank" and number else subject


def writer_of(record: Record) -> str:
    """Whose record it is, as ranks are spelled."""
    return spelled(record.node, whole(record, OF_RANK))


@dataclass(frozen=True, slots=True)
class Init:
    """A process joined its group; `rank` and the like are what it was told, and may not be what it should be."""

    rank: int
    world_size: int
    local_rank: int | None
    backend: str
    seconds: float | None
    address: str
    record: Record


@dataclass(frozen=True, slots=True)
class Failure:
    """The framework's own words on what went wrong; `at_seconds` is since 1970 by the node's clock."""

    phase: str  # start, import, store, init, op …
    op: str
    size_bytes: int | None
    type: str
    text: str
    missing: tuple[str, ...]  # ranks that never came, as they are spelled
    at_seconds: float
    record: Record

    @property
    def reason(self) -> str:
        """The first line of its text, with the file but not the folder of the C++ source that it names."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return _SOURCE.sub(r"[\1]", lines[0])[:300].rstrip(". ") if lines else self.type

    @property
    def where(self) -> str:
        """What failed, such as `all_reduce of 1 MiB`."""
        return spell_place(self.phase, self.op, self.size_bytes)

    @property
    def evidence(self) -> Evidence:
        """Its record."""
        return self.record.evidence(f"{writer_of(self.record)} failed in {self.where}: {self.reason}")


_ENDED = {
    "deadline": "was ended when its time was up",
    "lost": "was ended some seconds after a node of its group was lost",
}


@dataclass(frozen=True, slots=True)
class Exit:
    """How the process ended; `at_seconds` is since 1970 by the node's clock."""

    code: int | None
    signal: int | None
    reason: str  # "deadline", "lost" or "stopped": killed by gonogo; "not started"; "" where it ended without us
    oom_kills: int  # of its cgroup, while it ran
    output: str  # the end of what it printed
    at_seconds: float
    record: Record
    starved: float | None = None  # of the time in which it could have run at last, the share in which it had no CPU

    @property
    def killed_by(self) -> int | None:
        """The signal that somebody else sent; a shell tells it as 128 + its number."""
        if self.reason:
            return None
        return self.signal or (self.code - 128 if self.code and 128 < self.code < 160 else None)

    @property
    def said(self) -> str:
        """How it ended, to follow `it `."""
        if self.reason == "not started":
            return "could not be started"
        if self.reason:
            return _ENDED.get(self.reason, "was ended with its agent's step")
        if self.killed_by:
            return f"was killed by {spell_signal(self.killed_by)}"
        return f"ended with code {self.code}"

    def evidence(self, name: str) -> Evidence:
        """Its record."""
        last = self.output.strip().splitlines()[-1:] if self.code and not self.reason else []
        return self.record.evidence(f"{name} {self.said}{f'; its last words: {last[0][:200]}' if last else ''}")


def spell_signal(number: int) -> str:
    """9 -> signal 9 (SIGKILL)."""
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


@dataclass(frozen=True, slots=True)
class Rank:
    """One process of a step; everything is None until it came that far."""

    name: str  # as it is spelled: its node, and its number if that node has several
    init: Init | None = None
    at: str = ""  # what it was about to do when it was last heard of, such as `all_reduce of 1 MiB`
    failure: Failure | None = None
    exit: Exit | None = None
    number: int | None = None  # of its node's, if that has several

    @property
    def node(self) -> str:
        """The name of its node."""
        return node_of(self.name)

    @property
    def local(self) -> str:
        """What to call it on its node, to follow `the` or begin a sentence: the rank, rank 3."""
        return "the rank" if self.number is None else f"rank {self.number}"

    @property
    def finished(self) -> bool:
        """Whether it ended by itself and well."""
        return self.exit is not None and self.exit.code == 0 and not self.exit.reason and self.failure is None


def _init(record: Record) -> Init:
    rank, size = whole(record, "rank"), whole(record, "world_size")
    return Init(
        -1 if rank is None else rank,
        size or 0,
        whole(record, "local_rank"),
        text(record, "backend"),
        number(record, "seconds"),
        text(record, "interface_address"),
        record,
    )


def _failure(record: Record) -> Failure:
    return Failure(
        text(record, "phase"),
        text(record, "op"),
        whole(record, "bytes"),
        text(record, "type"),
        text(record, "text"),
        texts(record, "missing"),
        number(record, "t") or 0.0,
        record,
    )


def _exit(record: Record) -> Exit:
    return Exit(
        whole(record, "code"),
        whole(record, "signal"),
        text(record, "reason"),
        whole(record, "oom_kills") or 0,
        text(record, "output"),
        number(record, "t") or 0.0,
        record,
        _starved(record),
    )


def _starved(record: Record) -> float | None:
    looked, ran, waited = (number(record, f"{name}_seconds") for name in ("looked", "ran", "waited"))
    if not looked or ran is None or waited is None or ran + waited < LEAST_EFFORT * looked:
        return None
    return waited / (ran + waited)


def _at(record: Record) -> str:
    index = whole(record, "index")
    place = spell_place(text(record, "phase"), text(record, "op"), whole(record, "bytes"))
    if index is None:
        return place
    return f"step {index}" if place == "step" else f"{place} of step {index}"


def spell_place(phase: str, op: str = "", size: int | None = None) -> str:
    """Where a process was, to follow `in `: all_reduce of 1 MiB, the rendezvous …"""
    if op:
        return f"{op} of {spell_bytes(size)}" if size else op
    words = {"store": "the rendezvous", "init": "the init of its process group", "start": "its start", "": "its start"}
    return words.get(phase, phase)


def spell_bytes(size: int) -> str:
    """1024 -> 1 KiB, 1000 -> 1000 bytes."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift} {unit}"
    return f"{size} bytes"


def rank_of(name: str, number: int | None, told: list[Record]) -> Rank | None:
    """What a rank's records of a step say of its process, or None where it never started."""
    if not any(r.kind in ("init", "at", "error", "exit", "op", "step") for r in told):
        return None
    last = {r.kind: r for r in told}
    first_error = next((r for r in told if r.kind == "error"), None)
    return Rank(
        spelled(name, number),
        _init(last["init"]) if "init" in last else None,
        _at(last["at"]) if "at" in last else "",
        _failure(first_error) if first_error else None,
        _exit(last["exit"]) if "exit" in last else None,
        number,
    )
