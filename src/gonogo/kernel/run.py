"""One run: collect what the chosen checks need, judge facts as they come, explain findings as they come."""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from gonogo.kernel.facts import Control, Findings, Lost, PerNode, Progress, Skip
from gonogo.kernel.needs import needed, required
from gonogo.kernel.steps import Check, Registry, Step
from gonogo.model import CLUSTER, Diagnosis, Figure, Finding, Status, Subject

_WAKE_SECONDS = 0.25
"""A signal that comes just before a wait, or to another thread, is handled no sooner than the wait ends."""


@dataclass(frozen=True, slots=True)
class FactCame:
    """A fact is there, or is lost."""

    fact: type
    value: object


@dataclass(frozen=True, slots=True)
class CheckDone:
    """A check has judged; its findings carry its id."""

    check: str
    findings: tuple[Finding, ...]
    figures: tuple[Figure, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """All diagnoses as they stand now, not yet arbitrated."""

    diagnoses: tuple[Diagnosis, ...]


@dataclass(frozen=True, slots=True)
class CollectorDone:
    """A collector has ended."""

    name: str
    seconds: float


Event = FactCame | CheckDone | Diagnosed | CollectorDone | Progress


@dataclass(frozen=True, slots=True)
class _Came:
    step: Step
    value: object


@dataclass(frozen=True, slots=True)
class _Ended:
    step: Step
    seconds: float


@dataclass(frozen=True, slots=True)
class _Abandon:
    reason: str


class Run:
    """One run: iterate over it for its events; `interrupt` it from a signal handler or another thread.

    `given` seeds facts: the interface for tests, replay and what the user says. `seconds` bounds the whole.
    """

    def __init__(
        self,
        registry: Registry,
        checks: Iterable[Check],
        given: Mapping[type, object] | None = None,
        seconds: float = float("inf"),
    ) -> None:
        self._registry = registry
        self._facts: dict[type, object] = dict(given or {})
        self._pending = needed(registry, checks, self._facts)
        makes = {fact for step in self._pending for fact in step.makes}
        parsed = frozenset(fact for step in self._pending if step.kind == "parser" for fact in step.makes)
        self._wanted = parsed.union(fact for step in self._pending for fact in required(step)) & makes
        self._checks = {c.step: c for c in registry.checks.values()}
        self._queue: queue.SimpleQueue[_Came | _Ended | _Abandon | Progress] = queue.SimpleQueue()
        self._running: set[Step] = set()
        self._threads: list[threading.Thread] = []
        self._abandoned = ""
        self._findings: list[Finding] = []
        self._diagnoses: dict[Step, tuple[Diagnosis, ...]] = {}
        self._crashed: set[Step] = set()
        self._control = Control(self._wanted, threading.Event(), self._queue.put, time.monotonic() + seconds)
        self._facts[Control] = self._control

    def interrupt(self, reason: str = "the run was interrupted") -> None:
        """Give up what isn't there yet; the run ends at once with what it has. Safe in a signal handler."""
        self._control.stopped.set()
        self._queue.put(_Abandon(reason))

    def settle(self, seconds: float) -> None:
        """Wait for so long at most until all collectors have ended, those that were given up among them."""
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    @property
    def wanted(self) -> frozenset[type]:
        """The facts that the chosen checks need and this run will try to have."""
        return self._wanted

    def __iter__(self) -> Iterator[Event]:
        yield from self._advance()
        while self._running:
            try:
                message = self._queue.get(timeout=min(self._control.remaining(), _WAKE_SECONDS))
            except queue.Empty:
                if self._control.remaining() > 0:
                    continue
                message = _Abandon("the run's time was up")
            yield from self._receive(message)
            yield from self._advance()
        yield from self._explain()  # what was given explains itself, even where no check ran

    def _receive(self, message: _Came | _Ended | _Abandon | Progress) -> Iterator[Event]:
        match message:
            case Progress():
                yield message
            case _Came(step, Lost(fact=None) as lost):
                for fact in step.makes:
                    yield from self._publish(fact, lost)
            case _Came(_, Lost(fact=type() as fact) as lost):
                yield from self._publish(fact, lost)
            case _Came(step, value) if type(value) in step.makes:
                yield from self._publish(type(value), value)
            case _Came(step, value):
                lost = Lost(f"What collects it ({step.name}) made a {type(value).__name__} that it had not promised.")
                yield from self._receive(_Came(step, lost))
            case _Ended(step, seconds):
                self._running.discard(step)
                for fact in step.makes:
                    yield from self._publish(fact, Lost(f"What collects it ({step.name}) ended without it."))
                yield CollectorDone(step.name, seconds)
            case _Abandon(reason):
                self._abandoned = reason
                self._control.stopped.set()
                for step in self._running:
                    for fact in step.makes:
                        yield from self._publish(fact, Lost(f"It was still being collected: {reason}."))
                self._running.clear()

    def _publish(self, fact: type, value: object) -> Iterator[Event]:
        """The first word on a fact stands: what comes after its end or its loss is dropped."""
        if fact not in self._facts:
            self._facts[fact] = value
            yield FactCame(fact, value)

    def _advance(self) -> Iterator[Event]:
        """Start or run every step whose facts are in, until none is left to."""
        news = False
        while ready := [s for s in self._pending if self._is_ready(s)]:
            for step in ready:
                self._pending.remove(step)
                for event in self._start(step):
                    news = news or isinstance(event, FactCame | CheckDone)
                    yield event
        if news:
            yield from self._explain()

    def _is_ready(self, step: Step) -> bool:
        return all(
            fact in self._facts or (parameter in step.optional and fact not in self._wanted)
            for parameter, fact in step.needs.items()
        )

    def _start(self, step: Step) -> Iterator[Event]:
        if step in self._checks:
            yield self._judge(self._checks[step])
        elif lost := self._first_lost(step):
            for fact in step.makes:
                yield from self._publish(fact, lost)
        elif step.kind == "parser":
            value = next(_drive(step, self._arguments(step)))
            yield from self._receive(_Came(step, value))
        elif self._abandoned:
            for fact in step.makes:
                yield from self._publish(fact, Lost(f"It was not collected: {self._abandoned}."))
        else:
            self._running.add(step)
            self._threads.append(threading.Thread(target=self._collect, args=(step,), name=step.name, daemon=True))
            self._threads[-1].start()

    def _collect(self, step: Step) -> None:
        began = time.monotonic()
        for value in _drive(step, self._arguments(step)):
            self._queue.put(_Came(step, value))
        self._queue.put(_Ended(step, time.monotonic() - began))

    def _arguments(self, step: Step) -> dict[str, object]:
        found = {name: self._facts.get(fact) for name, fact in step.needs.items()}
        return {name: None if isinstance(value, Lost) else value for name, value in found.items()}

    def _first_lost(self, step: Step) -> Lost | None:
        """The gravest loss among the required facts: unknown beats skip."""
        lost = [value for value in map(self._facts.get, required(step)) if isinstance(value, Lost)]
        return max(lost, key=lambda v: v.status.severity, default=None)

    def _judge(self, check: Check) -> CheckDone:
        began = time.perf_counter()
        findings: list[Finding] = []
        figures: list[Figure] = []
        if lost := self._first_lost(check.step):
            findings.append(_crash(lost, check.id))
        else:
            arguments = self._arguments(check.step)
            for value in _drive(check.step, arguments):
                match value:
                    case Finding():
                        findings.append(value)
                    case Figure():
                        figures.append(replace(value, check=check.id))
                    case Lost():
                        findings.append(_crash(value, check.id))
            findings += _silent_subjects(arguments.values(), {f.subject for f in findings})
            if not findings:
                findings.append(Finding(Status.UNKNOWN, CLUSTER, "There was nothing to look at."))
        stamped = tuple(replace(f, check=check.id) for f in findings)
        self._findings += stamped
        return CheckDone(check.id, stamped, tuple(figures), time.perf_counter() - began)

    def _explain(self) -> Iterator[Event]:
        before = dict(self._diagnoses)
        self._facts[Findings] = Findings(self._findings)
        for cause in self._registry.every_cause:
            if cause.step in self._crashed or not all(fact in self._facts for fact in required(cause.step)):
                continue
            if not self._first_lost(cause.step):
                made = tuple(_drive(cause.step, self._arguments(cause.step)))
                self._diagnoses[cause.step] = tuple(d for d in made if isinstance(d, Diagnosis))
                if crashes := tuple(_crash(m, cause.id) for m in made if isinstance(m, Lost)):
                    self._crashed.add(cause.step)
                    self._findings += crashes
                    yield CheckDone(cause.id, crashes, (), 0.0)
        if self._diagnoses != before:
            yield Diagnosed(tuple(d for found in self._diagnoses.values() for d in found))


def _drive(step: Step, arguments: Mapping[str, object]) -> Iterator[object]:
    """Call a step and pass on what it makes, then what ended it; what came before a crash is kept."""
    try:
        made = step.call(**arguments)
        if isinstance(made, Iterator):
            yield from made
        else:
            yield made
    except Skip as reason:
        yield Lost(str(reason), Status.SKIP)
    except Exception as error:  # noqa: BLE001 - the one broad except of the kernel: a crash is an unknown, never a green
        who = step.name if step.kind in ("check", "cause") else f"What makes it ({step.name})"
        yield Lost(f"{who} crashed: {type(error).__name__}: {error}", traceback=traceback.format_exc())


def _crash(lost: Lost, id: str) -> Finding:
    return Finding(lost.status, CLUSTER, lost.reason, check=id, traceback=lost.traceback)


def _silent_subjects(arguments: Iterable[object], judged: set[Subject]) -> list[Finding]:
    """One finding for each lost entry of the facts that a check read, unless it spoke of that subject itself."""
    lost = {
        subject: entry
        for fact in arguments
        if isinstance(fact, PerNode)
        for subject, entry in fact.lost.items()
        if subject not in judged
    }
    return [Finding(entry.status, subject, entry.reason) for subject, entry in lost.items()]
