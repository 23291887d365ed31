"""The main job, wired: a target's documents into facts, findings, diagnoses and one report."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from types import FrameType

import gonogo
from gonogo.causes.arbitrate import arbitrate
from gonogo.causes.known import in_region
from gonogo.coverage import coverage
from gonogo.documents import bundle as documents
from gonogo.documents.bundle import Bundle, BundleError
from gonogo.documents.records import LOGS, NodeLog, StepLog
from gonogo.documents.redact import redact
from gonogo.errors import InputError
from gonogo.kernel import CheckDone, Diagnosed, Event, FactCame, Lost, Registry, Run
from gonogo.model import (
    Diagnosis,
    Figure,
    Finding,
    Flags,
    Level,
    Report,
    RunInfo,
    Status,
    Subject,
    TargetInfo,
    Timing,
    Verdict,
)
from gonogo.plan import Plan
from gonogo.report.again import in_context
from gonogo.report.json import render as render_json
from gonogo.report.text import duration
from gonogo.selection import Selection
from gonogo.target import Price, Target

BUNDLE_CHECK = "bundle"
"""Stands where a check's id stands, for findings about the bundle itself."""

INTERRUPTED = 130
_SETTLE_SECONDS = 1.0
"""For so long a run that was given up waits for what it started to end; local agents are gone within half a second."""

_PLANES = {"kubernetes": "Kubernetes", "aws": "AWS"}
"""What to call them in a sentence."""


@dataclass(frozen=True, slots=True)
class Started:
    """The run begins; its upper bound of time is known."""

    run: RunInfo
    target: TargetInfo
    steps: tuple[str, ...]


Told = Event | Started


@dataclass(slots=True)
class _State:
    """What has come so far."""

    findings: list[Finding] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    diagnoses: tuple[Diagnosis, ...] = ()
    timings: list[Timing] = field(default_factory=list)
    lost: dict[str, Lost] = field(default_factory=dict)
    since: float = field(default_factory=time.monotonic)
    node_log: NodeLog | None = None

    def take(self, event: Event) -> None:
        match event:
            case FactCame(fact, Lost() as lost):
                self.lost[fact.__name__] = lost
            case FactCame(fact, value) if isinstance(value, StepLog):
                now = time.monotonic()
                step = next((name for name, kind in LOGS.items() if kind is fact), fact.__name__)
                self.timings.append(Timing(step, round(now - self.since, 3)))
                self.since = now
                self.node_log = value if isinstance(value, NodeLog) else self.node_log
            case CheckDone():
                self.findings += event.findings
                self.figures += event.figures
            case Diagnosed():
                self.diagnoses = event.diagnoses
            case _:
                pass


def verify(
    target: Target,
    plan: Plan,
    *,
    registry: Registry,
    selection: Selection,
    run_id: str,
    level: Level,
    bundle: Bundle | None = None,
    timeout_seconds: float = float("inf"),
    most_dollars: float = float("inf"),
    flags: Flags | None = None,
    on_event: Callable[[Told], None] = lambda event: None,
) -> Report:
    """Run the chosen checks against a target, and report.

    With a bundle, everything that was seen is kept in it. Ctrl-C or SIGTERM gives up what isn't there yet; a second
    one ends the process at once. `flags` are those of the command line, kept so that the report can repeat them.
    Raises InputError, before anything is started, where the nodes may cost more than `most_dollars`.
    """
    given = {Plan: plan, **_other_planes(registry, target), **target.given}
    if bundle is not None:
        given[Bundle] = bundle
    registry = registry.with_collectors(*target.collectors)
    wanted = Run(registry, selection.checks, given).wanted
    uncut = target.bound_seconds(wanted)
    bound = min(uncut, timeout_seconds)
    dollars = _dollars(target.price(wanted), bound, most_dollars)
    now = time.time()
    info = target.run or RunInfo(
        run_id, gonogo.__version__, level, now, now, bound, flags=flags, uncut_seconds=uncut, bound_dollars=dollars
    )  # fmt: skip
    began = time.monotonic()
    run = Run(registry, selection.checks, given, bound if target.collectors else float("inf"))
    keep = _Keeper(bundle, target, plan, selection, tuple(s for s, log in LOGS.items() if log in wanted))
    keep.run(info)
    state = _State()
    node_log = target.given.get(NodeLog)
    state.node_log = node_log if isinstance(node_log, NodeLog) else None
    with _interruptible(run) as interrupted:
        on_event(Started(info, target.info, keep.steps))
        for event in run:
            state.take(event)
            if isinstance(event, Diagnosed):  # people are shown roots, as in the report
                event = Diagnosed(arbitrate(event.diagnoses, state.findings, registry.every_cause))
            on_event(event)
        run.settle(_SETTLE_SECONDS)
    if not target.run:
        agent = _agent_sha256(state.node_log)
        is_open = any(f.status is Status.UNKNOWN for f in state.findings)
        info = replace(
            info,
            ended=time.time(),
            interrupted=bool(interrupted),
            agent_sha256=agent,
            timed_out=is_open and not interrupted and bound < uncut and time.monotonic() - began >= bound,
        )
    report = _report(info, target, plan, registry, selection, state)
    try:
        keep.outcome(report, state)
    except BundleError as error:  # what was found out is still told
        target = replace(target, notes=(*target.notes, str(error)))
        return _report(info, target, plan, registry, selection, state)
    return report


def _dollars(price: Price, seconds: float, most: float) -> float:
    """What a run may cost. Raises InputError if that may be more than it should."""
    cost = round(price.dollars_per_hour * seconds / 3600, 2)
    if math.isinf(most) or (not price.dollars_per_hour and not price.why_not):
        return cost
    if price.why_not:
        raise InputError(f"--max-cost: what the run may cost is not known: {price.why_not.rstrip('.')}.")
    if cost > most:
        raise InputError(
            f"--max-cost: the nodes cost ${price.dollars_per_hour:.2f} an hour, so {duration(seconds)}, the most that "
            f"the run may take, ${cost:.2f}; ${most:.2f} at most were asked for. A --timeout bounds it, too."
        )
    return cost


def _other_planes(registry: Registry, target: Target) -> dict[type, object]:
    """Facts that name a plane which this target can't see are skips, with the reason."""
    steps = [c.step for c in registry.checks.values()] + list(registry.makers.values())
    facts = {fact for step in steps for fact in step.needs.values()} | set(registry.makers)
    blind = {fact: plane for fact in facts if (plane := getattr(fact, "plane", "")) and plane not in target.planes}
    return {
        fact: Lost(f"This run looks at {target.info.name}, not at {_PLANES.get(plane, plane)}.", Status.SKIP)
        for fact, plane in blind.items()
    }


def _report(
    info: RunInfo, target: Target, plan: Plan, registry: Registry, selection: Selection, state: _State
) -> Report:  # fmt: skip
    bundle = Subject("file", "bundle")
    damaged = [Finding(Status.UNKNOWN, bundle, note, check=BUNDLE_CHECK) for note in target.notes]
    findings = tuple(sorted((*state.findings, *damaged), key=lambda f: (f.check, f.subject)))
    about = _as_built(target.info, state.node_log)
    titles = {BUNDLE_CHECK: "The bundle is whole"}
    titles |= {id: check.title for id, check in registry.checks.items()}
    titles |= {id: cause.title for id, cause in registry.causes.items()}
    told = {f.check for f in findings} | {d.cause for d in state.diagnoses} | set(selection.skipped)
    return Report(
        verdict=Verdict.of(f.status for f in findings),
        run=info,
        target=about,
        plan=_shown(plan),
        coverage=coverage(
            findings, titles, selection.skipped, selection.not_asked, about.cannot_prove, about.untouched, about.untried
        ),
        findings=findings,
        diagnoses=tuple(
            in_region(in_context(d, info, about.kind == "kubernetes"), about.name, about.summary)
            for d in arbitrate(state.diagnoses, findings, registry.every_cause)
        ),
        figures=tuple(sorted(state.figures, key=lambda f: (f.check, f.name, f.subject))),
        timings=target.timings or tuple(state.timings),
        titles={id: title for id, title in sorted(titles.items()) if id in told},
    )


def _shown(plan: Plan) -> dict[str, object]:
    """What a plan says beyond defaults, without the secrets that its environment may hold."""
    text = json.dumps(plan.model_dump(by_alias=True, exclude_defaults=True))
    shown: dict[str, object] = json.loads(redact(text.encode()))
    return shown


_MADE_OF: dict[str, tuple[str, tuple[str, ...]]] = {
    "namespaces": ("in network namespaces", ()),
    "user-namespaces": ("in network namespaces, without root", ()),
    "loopback": (
        "on loopback addresses",
        ("that nodes have networks, host names and /dev/shm of their own", "MTU and link speed between nodes"),
    ),
}
"""What the launcher says it made nodes of -> words for the report, and what such nodes can't prove."""


def _as_built(target: TargetInfo, log: NodeLog | None) -> TargetInfo:
    """The local target as the launcher says that it built it."""
    built = next(log.of("built"), None) if log and target.kind == "local" else None
    words, cannot = _MADE_OF.get(str(built.get("made_of")) if built else "", ("", ()))
    if not words or words in target.summary:
        return target
    lacks = built.get("lacks") if built else ()
    cannot += tuple(map(str, lacks)) if isinstance(lacks, list) else ()
    return replace(target, summary=f"{target.summary} {words}", cannot_prove=(*target.cannot_prove, *cannot))


def _agent_sha256(log: NodeLog | None) -> str:
    return next((str(r.get("sha256") or "") for r in log.of("start")), "") if log else ""


class _Keeper:
    """Keeps in the bundle what a later judgement needs besides documents: written before, and again after the run."""

    def __init__(
        self, bundle: Bundle | None, target: Target, plan: Plan, selection: Selection, steps: tuple[str, ...]
    ) -> None:  # fmt: skip
        self.steps = steps
        self._bundle = bundle
        self._run: dict[str, object] = {
            "apiVersion": "gonogo/v1",
            "kind": "Run",
            "target": asdict(target.info),
            "planes": sorted(target.planes),
            "plan": plan.model_dump(by_alias=True, exclude_defaults=True),
            "steps": list(steps),
            "checks": [check.id for check in selection.checks],
            "skipped": dict(selection.skipped),
            "python": sys.version.split()[0],
        }

    def run(self, info: RunInfo, **more: object) -> None:
        if self._bundle:
            self._bundle.write_json(documents.RUN, {**self._run, "run": asdict(info), **more})

    def outcome(self, report: Report, state: _State) -> None:
        if not self._bundle:
            return
        lost = {name: {"reason": v.reason, "status": v.status} for name, v in state.lost.items()}
        self._run["target"] = asdict(report.target)
        self.run(report.run, lost=lost, timings=[asdict(t) for t in report.timings])
        self._bundle.write(documents.REPORT, render_json(report).encode())
        crashes = {f.traceback: f"{f.check}: {f.message}" for f in report.findings if f.traceback}
        crashes |= {v.traceback: f"{name}: {v.reason}" for name, v in state.lost.items() if v.traceback}
        if crashes:
            text = "\n".join(f"{what}\n{trace}" for trace, what in crashes.items())
            self._bundle.write(documents.TRACEBACKS, text.encode())
        self._bundle.close()


@contextmanager
def _interruptible(run: Run) -> Iterator[list[int]]:
    """Turns the first SIGINT or SIGTERM into the end of the run, and the second into the end of the process.

    So does SIGHUP, for a terminal that is closed, unless nohup had it ignored.
    """
    came: list[int] = []

    def give_up(number: int, frame: FrameType | None) -> None:
        if came:
            if sys.stderr.isatty():
                os.write(2, b"\x1b[?25h\n")  # progress had hidden the cursor
            os._exit(INTERRUPTED)
        came.append(number)
        run.interrupt()

    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    numbers = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        numbers.remove(signal.SIGHUP)
    before = {number: signal.signal(number, give_up) for number in numbers}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
