"""Recorded bundles judged by the kernel, as they are or with some of their records changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from faulty import BUNDLES

from gonogo import plan as plans
from gonogo import registry
from gonogo.causes.arbitrate import arbitrate
from gonogo.documents import replay
from gonogo.documents.records import Record, StepLog
from gonogo.kernel import CheckDone, Diagnosed, Registry, Run
from gonogo.model import Diagnosis, Figure, Finding, Status
from gonogo.plan import Plan

HEALTHY = sorted(p.name for p in BUNDLES.glob("healthy*"))
FAULTY = sorted(p.name for p in BUNDLES.iterdir() if p.is_dir() and not p.name.startswith("healthy"))

Change = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Given a copy of a record's fields: what to put in its place, or None to leave it out."""


@dataclass(frozen=True)
class Judged:
    """What a run came to; `raw` are the causes' words before they are arbitrated."""

    findings: tuple[Finding, ...]
    figures: tuple[Figure, ...]
    raw: tuple[Diagnosis, ...]
    diagnoses: tuple[Diagnosis, ...]

    def of(self, check: str, *statuses: str) -> list[Finding]:
        return [f for f in self.findings if f.check == check and (not statuses or f.status in statuses)]

    def worst(self, check: str) -> Status:
        return max((f.status for f in self.of(check)), key=lambda s: s.severity)

    def bad(self, check: str) -> set[str]:
        """Subjects that fail."""
        return {str(f.subject) for f in self.of(check, "fail")}

    def cause(self, id: str) -> Diagnosis:
        (found,) = (d for d in self.raw if d.cause == id)
        return found


@cache
def read(bundle: str) -> replay.Replay:
    return replay.read(BUNDLES / bundle)


@cache
def recorded(bundle: str) -> Judged:
    """A bundle with all checks of agents, as recorded."""
    return judged(bundle)


def judged(
    bundle: str, change: Change | None = None, *, plan: Plan | None = None, only: tuple[str, ...] = ()
) -> Judged:
    """A bundle through the kernel's run; with some of its records changed, or under another plan."""
    known = registry.load()
    logs = {kind: _changed(log, change) if change else log for kind, log in read(bundle).logs.items()}
    plan = plan or plans.recorded(read(bundle).run.get("plan"), bundle)
    chosen = [known.checks[id] for id in (only or of_bundle(bundle, known))]
    findings: list[Finding] = []
    figures: list[Figure] = []
    raw: tuple[Diagnosis, ...] = ()
    for event in Run(known, chosen, {**logs, Plan: plan}):
        if isinstance(event, CheckDone):
            findings += event.findings
            figures += event.figures
        elif isinstance(event, Diagnosed):
            raw = event.diagnoses
    return Judged(tuple(findings), tuple(figures), raw, arbitrate(raw, findings, known.every_cause))


def of_agents(known: Registry) -> list[str]:
    """The ids of checks that rest on agents' records: those numbered below 100."""
    return [id for id in known.checks if int(id[3:]) < 100]


def of_bundle(bundle: str, known: Registry) -> list[str]:
    """Those of them that there were when the bundle was recorded: it holds nothing for the others."""
    then = read(bundle).run.get("checks", ())
    return [id for id in of_agents(known) if id in then]


def _changed(log: object, change: Change) -> object:
    if not isinstance(log, StepLog):
        return log
    made = []
    for record in log.records:
        fields = change(copy.deepcopy(dict(record.data)))
        if fields is not None:
            made.append(Record(fields, record.file, record.line))
    return type(log)(log.nodes, tuple(made), log.ended)


def where(fields: dict[str, Any], **wanted: Any) -> bool:
    """Whether a record has these fields."""
    return all(fields.get(key) == value for key, value in wanted.items())


def with_fields(change: dict[str, Any], **wanted: Any) -> Change:
    """Change these fields of the records that match."""
    return lambda fields: {**fields, **change} if where(fields, **wanted) else fields


def without(**wanted: Any) -> Change:
    """Leave out the records that match."""
    return lambda fields: None if where(fields, **wanted) else fields
