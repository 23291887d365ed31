"""What is wrong by lines and by pods, one finding a kind and a subject; and which root cause explains it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gonogo.causes.scopes import Scopes
from gonogo.facts.events import Event, Events
from gonogo.facts.neighbours import stem
from gonogo.facts.objects import Objects
from gonogo.facts.recovery import folders_of_good_ends
from gonogo.facts.signatures import Role, Signature, catalogue
from gonogo.facts.slowing import slower_rows, slowing
from gonogo.facts.strangers import strangers
from gonogo.facts.well import Progress, failed_jobs, folder_of, made_anew
from gonogo.model import CLUSTER, Certainty, Diagnosis, Finding, FindingKey, Status
from gonogo.report.text import count
from gonogo.report.verdict import everyone

FAULTS = (Role.INITIATING, Role.CASCADE)
STEP_SECONDS = "train.step_seconds"
_OF_PEOPLE = re.compile(
    r"(?i)(?:ticket|chat|mail|message|note|slack|issue|question|request|thread|report|comment|readme|user)"
)
"""Names of files that hold what people say; the words in logs are a program's."""
POD_STATE, JOB_STATE = "k8s.pod_state", "k8s.job_state"
"""Stand where a signature's id stands, for findings about a pod's or job's own state."""
WELL_PHASES = ("Running", "Succeeded", "Completed", "Terminating")
_ENDED_BADLY = re.compile(
    r"(?i)\bexit(?:s|ed)? with (?:exit |return )?(?:code|status) ?[=:]? ?-?[1-9]|non-zero exit status"
)
"""What a launcher says of a process that failed: not well, although steps were seen before."""
HARMLESS_XIDS = (43, 63, 92)
"""A program that ended, a row that is set aside at the next reset, corrected errors."""
SHOWN_SUBJECTS = 50  # findings of one kind of line in the report


def of_lines(events: Events) -> tuple[Finding, ...]:
    """One finding for each kind of line and writer: a fail where a line says that something broke."""
    groups: dict[FindingKey, list[Event]] = {}
    for event in events.role(*FAULTS):
        groups.setdefault(FindingKey(event.signature, event.subject), []).append(event)
    known = catalogue().by_id
    return tuple(
        Finding(
            Status.FAIL,
            key.subject,
            known[key.check].meaning,
            measured=len(some),
            unit="lines",
            evidence=tuple(e.evidence for e in some[:3]),
            check=key.check,
        )
        for key, some in sorted(groups.items())
    )


def of_pods(objects: Objects, progress: Progress) -> tuple[Finding, ...]:
    """Pods that neither run nor are done: something is wrong, whether or not a line says what.

    Where steps of training are seen, only pods of the same name as one that runs can be the job's.
    """
    found = []
    running = {stem(p.name) for p in objects.of("Pod") if p.get("status.phase") == "Running"}
    others = strangers(objects, progress.last)
    done = {made_anew(p.name) for p in objects.of("Pod") if p.get("status.phase") in ("Succeeded", "Completed")}
    for pod in objects.of("Pod"):
        if pod.name in others or made_anew(pod.name) in done:
            continue
        if progress.last and running and stem(pod.name) not in running:
            continue
        reasons: list[tuple[tuple[str | int, ...], str]] = [
            (("status", "containerStatuses", i, "state", "waiting", "reason"), str(c["state"]["waiting"]["reason"]))
            for i, c in enumerate(pod.items("status.containerStatuses"))
            if isinstance(c.get("state"), dict) and (c["state"].get("waiting") or {}).get("reason")
        ]
        phase = str(pod.get("status.phase", ""))
        if phase and phase not in WELL_PHASES and not phase.startswith("Init:"):
            reasons.append((("status", "phase"), phase))
        for path, reason in reasons[:1]:
            evidence = (pod.cite(path),)
            found.append(Finding(Status.FAIL, pod.subject, f"The pod is {reason}.", evidence=evidence, check=POD_STATE))
    return tuple(found)


def vague(events: Events, objects: Objects, progress: Progress) -> tuple[Finding, ...]:
    """Something raised, or lines of no known kind speak of errors, and nothing shows a good end; or steps slowed."""
    raised = events.of("python.exception") or _told_to_end(events, objects, progress)
    good = folders_of_good_ends(events, objects, progress)
    told = [e for e in events.of("log.trouble", "gpu.xid") if e.captures.get("xid") not in HARMLESS_XIDS]
    waits = [e for e in events.of("train.waits_long") if _is_after(e, events, progress)]
    done = {folder_of(f) for f in events.of("job.finished").files}
    ended = [e for e in told if _ENDED_BADLY.search(e.text) and folder_of(e.file) not in done]
    ended = [e for e in ended if _is_after(e, events, progress)]
    left = ended or [e for e in told if folder_of(e.file) not in good]
    some = raised or Events(tuple(waits or left))
    if not some:
        return _failed(objects) or _slower(events, objects)
    kind = some.all[0].signature
    evidence = tuple(e.evidence for e in some.all[:3])
    shown = f"{evidence[0].file}:{evidence[0].line}: {evidence[0].text[:120]}"
    known = catalogue().by_id
    meaning = known[kind].meaning if kind in known else "A program raised an exception."
    text = f"{meaning} The first of {count(len(some.all), 'line')} is {shown}"
    return (Finding(Status.UNKNOWN, CLUSTER, text, len(some.all), unit="lines", evidence=evidence, check=kind),)


def _is_after(event: Event, events: Events, progress: Progress) -> bool:
    """Whether a line stands after the last step of its own log, and no good end does."""
    ends = [e.line for e in events.of("job.finished") if e.file == event.file]
    return progress.last.get(event.file, event.line) < event.line and max(ends, default=0) < event.line


def _failed(objects: Objects) -> tuple[Finding, ...]:
    """Jobs that failed, of which nothing says why."""
    return tuple(
        Finding(Status.UNKNOWN, o.subject, f"{o.kind} {o.name} failed.", evidence=(o.cite("status"),), check=JOB_STATE)
        for o in failed_jobs(objects)
    )


def _told_to_end(events: Events, objects: Objects, progress: Progress) -> Events:
    """Launchers that were told to end, where no step and no good end of anybody comes after it."""
    told = events.of("torchrun.scheduler_signal")
    over = folders_of_good_ends(events, objects, Progress()) | {folder_of(f) for f in {*progress.last} - {*told.files}}
    return Events(tuple(e for e in told if folder_of(e.file) not in over and e.line >= progress.last.get(e.file, 0)))


def with_cascade(ordered: Sequence[Diagnosis], faults: Sequence[Finding], scopes: Scopes) -> tuple[Diagnosis, ...]:
    """Lines that only ever follow a failure are explained by the first root cause that is not another job's."""
    if not ordered or ordered[0].certainty is Certainty.HYPOTHESIS:
        return tuple(ordered)
    known = catalogue().by_id
    claimed = {key for d in everyone(ordered) for key in d.explains}
    jobs = [scopes.of(d) for d in ordered]
    more: dict[int, list[FindingKey]] = {}
    for key in (f.key for f in faults if f.key not in claimed and _follows(f, known)):
        own = scopes.of_finding(key)
        place = next((i for i, job in enumerate(jobs) if not scopes.apart(own, job)), 0)
        more.setdefault(place, []).append(key)
    return tuple(replace(d, explains=(*d.explains, *more.get(i, ()))) for i, d in enumerate(ordered))


def _follows(finding: Finding, known: Mapping[str, Signature]) -> bool:
    return finding.check not in known or known[finding.check].role is Role.CASCADE


def shortened(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The first of each kind, and one that counts the rest: a thousand ranks that say the same are one line."""
    kinds: dict[str, list[Finding]] = {}
    for f in findings:
        kinds.setdefault(f.check, []).append(f)
    shown: list[Finding] = []
    for same in kinds.values():
        shown += same[:SHOWN_SUBJECTS]
        rest = len(same) - SHOWN_SUBJECTS
        if rest > 0:
            others = "more ranks, pods or nodes"
            shown.append(replace(same[0], subject=CLUSTER, measured=rest, unit=others, evidence=()))
    return tuple(shown)


def _slower(events: Events, objects: Objects) -> tuple[Finding, ...]:
    """That steps take longer than before; why, no step says."""
    found = slowing(events)
    if not found and (rows := slower_rows(objects)):
        where = f"{rows.evidence.file}:{rows.evidence.line}"
        text = f"Since {where} training takes {rows.ratio:.2f} times as long as before, by {rows.column}."
        ratio = round(rows.ratio, 2)
        return (Finding(Status.UNKNOWN, CLUSTER, text, ratio, evidence=(rows.evidence,), check=STEP_SECONDS),)
    if not found:
        return _told_by_people(events)
    text = f"Since {found.first.evidence.file}:{found.first.line} steps take {found.ratio:.1f} times as long as before."
    evidence = (found.first.evidence,)
    ratio = round(found.ratio, 2)
    return (Finding(Status.UNKNOWN, CLUSTER, text, ratio, evidence=evidence, check=found.first.signature),)


def _told_by_people(events: Events) -> tuple[Finding, ...]:
    """That somebody says that a job is slow or stands still, where no line shows why."""
    stuck = Events(tuple(e for e in events.of("train.told_stuck") if _OF_PEOPLE.search(e.file)))
    told = stuck or events.of("train.told_slower")
    if not told:
        return ()
    first = told.all[0]
    said = f"{first.file}:{first.line}: {first.evidence.text[:120]}"
    known = catalogue().by_id[first.signature]
    text = f"{known.meaning.removesuffix('.')} ({said})."
    check = STEP_SECONDS if not stuck else first.signature
    return (Finding(Status.UNKNOWN, CLUSTER, text, evidence=(first.evidence,), check=check),)
