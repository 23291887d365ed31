"""From a folder of logs and objects to the root cause: read, find events and objects, explain, order, report."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import IO

import gonogo
from gonogo.causes.known import Known
from gonogo.causes.order import by_rank, in_causal_order
from gonogo.causes.scopes import Scopes
from gonogo.diagnose.bundles import Kept, is_of_a_run, joined, judged_again, place_of_run
from gonogo.diagnose.coverage import NOT_SEEN, coverage_of
from gonogo.diagnose.findings import of_lines, of_pods, shortened, vague, with_cascade
from gonogo.documents.bundle import RUN
from gonogo.documents.folder import Read, read
from gonogo.documents.sources import Limits
from gonogo.documents.without_secrets import without_secrets
from gonogo.facts.about import is_fault
from gonogo.facts.events import Events, Scan
from gonogo.facts.neighbours import neighbours, without_trouble_of_others
from gonogo.facts.objects import Object, Objects, read_objects
from gonogo.facts.places import placed
from gonogo.facts.recovery import SETTINGS, standing
from gonogo.facts.signatures import catalogue
from gonogo.facts.strangers import strangers
from gonogo.facts.well import Progress
from gonogo.kernel import CheckDone, Diagnosed, Registry, Run
from gonogo.model import (
    Certainty,
    Claim,
    Diagnosis,
    Finding,
    Report,
    RunInfo,
    Status,
    TargetInfo,
    Verdict,
)
from gonogo.report.text import count
from gonogo.report.verdict import everyone


def diagnose(
    path: Path | None, *, registry: Registry, stdin: IO[bytes] | None = None, limits: Limits | None = None
) -> Report:
    """Read a file, a folder or stdin (None), and say what broke. Raises OSError if it can't be read at all."""
    began = time.time()
    scan, found, kept = Scan(), list[Object](), list[Kept]()

    def structured(name: str, text: str) -> str:
        damage: list[str] = []
        if PurePosixPath(name).name == RUN and (run := Kept.of(name, text)):
            kept.append(run)
        else:
            found.extend(read_objects(name, text, damage))
        return next(iter(damage), "")

    done = read(
        path,
        stdin or sys.stdin.buffer,
        on_file=scan.open,
        on_block=scan.feed,
        on_structured=structured,
        limits=limits,
    )
    name = "stdin" if path is None else path.name or str(path)
    info = RunInfo(os.urandom(3).hex(), gonogo.__version__, "read", began, time.time(), 0.0, done.interrupted)
    place = place_of_run(done.names)
    agents = judged_again(path, place)
    if agents:
        found = [o for o in found if not is_of_a_run(o.file.name, place)]
    objects = Objects.made(found)
    progress = Progress(scan.progress, scan.moments, scan.finite)
    seen = scan.events()
    seen = Events(
        tuple(e for e in seen if e.file not in done.manifests or e.signature.startswith(SETTINGS)), seen.counts
    )
    if agents:
        seen = Events(tuple(e for e in seen if not is_of_a_run(e.file, place)), seen.counts)
    elif kept:
        seen = Events(tuple(e for e in seen if e.file not in {k.file for k in kept}), seen.counts)
    events = standing(placed(seen, objects), objects, progress)
    files = {*progress.last, *(e.file for e in seen)}
    last_fault = {e.file: e.line for e in events if is_fault(e)}
    going_on = [f for f, line in progress.last.items() if line > last_fault.get(f, 0)]
    objects = without_trouble_of_others(objects, strangers(objects, files), neighbours(objects, going_on))
    report = judge(events, objects, progress, registry, info, name, done, kept)
    report = joined(report, agents) if agents else report
    return replace(
        report,
        coverage=without_secrets(report.coverage),
        findings=without_secrets(report.findings),
        diagnoses=without_secrets(report.diagnoses),
    )


def judge(
    events: Events,
    objects: Objects,
    progress: Progress,
    registry: Registry,
    info: RunInfo,
    name: str,
    done: Read,
    kept: Sequence[Kept] = (),
) -> Report:
    """The report on what was read. Pure but for the time of its end."""
    of_jobs = [k for k in kept if k.target]
    scopes = Scopes(events, objects)
    ordered, crashes = _explained(events, objects, registry, scopes)
    findings = (*of_lines(events), *of_pods(objects, progress), *crashes)
    faults = [f for f in findings if f.status is Status.FAIL]
    filled = Known(events, objects).filled
    ordered = tuple(filled(d) for d in with_cascade(ordered, faults, scopes))
    explained = {key for d in everyone(ordered) for key in d.explains}
    left = [f for f in faults if f.key not in explained]
    unclear = () if ordered or left else vague(events, objects, progress)
    sure = [d for d in ordered if d.certainty is not Certainty.HYPOTHESIS]
    verdict = Verdict.NOTHING_FOUND
    if sure:
        verdict = Verdict.FAULT
    elif (
        ordered or left or crashes or done.interrupted or done.is_blank or not done.lines or unclear
        or done.manifests.issuperset(done.names)
        or done.notes.missed or any(k.lost for k in of_jobs)
    ):  # fmt: skip
        verdict = Verdict.DIAGNOSE_UNDECIDED
    target = TargetInfo("files", name, _summary(done, objects))
    if len(of_jobs) == 1:
        target = TargetInfo("kubernetes", of_jobs[0].target, f"{of_jobs[0].summary}: {target.summary}")
    findings, left = (*findings, *unclear), [*left, *unclear]
    coverage = coverage_of(done, events, objects, verdict, left, ordered)
    unseen = [Claim(NOT_SEEN, reason=reason) for k in of_jobs for reason in (*k.lost, *k.notes)]
    return Report(
        verdict,
        replace(info, ended=time.time()),
        target,
        {},
        replace(coverage, not_proven=(*unseen, *coverage.not_proven)),
        shortened(findings),
        ordered,
        (),
        titles=_titles(ordered, findings, registry),
    )


def _explained(
    events: Events, objects: Objects, registry: Registry, scopes: Scopes
) -> tuple[tuple[Diagnosis, ...], tuple[Finding, ...]]:
    """Root causes in causal order, of each job by its own lines; and what crashed."""
    found: dict[tuple[str, str], Diagnosis] = {}
    crashes: list[Finding] = []
    for some, told in scopes.parts(events, objects):
        diagnoses, crashed = explain(some, told, registry)
        crashes += crashed
        for d in in_causal_order(diagnoses, some, registry, told):
            found.setdefault((d.cause, d.summary), d)
    return by_rank(found.values(), events), tuple(dict.fromkeys(crashes))


def explain(events: Events, objects: Objects, registry: Registry) -> tuple[tuple[Diagnosis, ...], tuple[Finding, ...]]:
    """What all causes say about events and objects, and what crashed."""
    diagnoses: tuple[Diagnosis, ...] = ()
    crashes: list[Finding] = []
    for event in Run(registry, (), given={Events: events, Objects: objects}):
        if isinstance(event, Diagnosed):
            diagnoses = event.diagnoses
        elif isinstance(event, CheckDone):
            crashes += event.findings
    return diagnoses, tuple(crashes)


def _titles(ordered: Sequence[Diagnosis], findings: Sequence[Finding], registry: Registry) -> dict[str, str]:
    """Titles of the causes and signatures that the report names."""
    causes = {d.cause: registry.causes[d.cause].title for d in everyone(ordered) if d.cause in registry.causes}
    known = catalogue().by_id
    return {**causes, **{f.check: known[f.check].meaning for f in findings if f.check in known}}


_OF_APIS = ("accessEntry", "addon", "cluster", "nodegroup", "nvidia-smi")
"""Kinds that are not written like Kubernetes's; other keys of JSON are no objects to a reader."""
_OWN = ("Run", "Report")
"""Kinds of the product's own documents."""


def _summary(done: Read, objects: Objects) -> str:
    what = count(done.files, "file")
    kinds = sorted(
        k for k in objects.by_kind if (k[:1].isupper() or k in _OF_APIS) and k not in _OWN and not k.endswith("List")
    )
    text = f"{what}, {count(done.lines, 'line')}"
    return f"{text}, objects: {', '.join(kinds[:8])}{' …' if len(kinds) > 8 else ''}" if kinds else text
