"""The verdict in half a sentence, and what to do next: what renderers for people share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gonogo.model import PREFIXES, Diagnosis, FindingKey, Report, RunInfo, Status, Verdict
from gonogo.report.again import command, longer
from gonogo.report.text import count

BAD = (Status.FAIL, Status.UNKNOWN, Status.WARN)
"""Statuses that a reader looks for, the worst first."""
_NAMES = {Status.FAIL: "failed", Status.UNKNOWN: "undetermined"}
_MOST_AREAS = 5
NOT_READ = "not read"
"""The text of diagnose's claims that say which files were left out."""
_TOO_LITTLE = "too little to read for a word on the job"
_OF_DIAGNOSE = (Verdict.FAULT, Verdict.DIAGNOSE_UNDECIDED, Verdict.NOTHING_FOUND)


def of_diagnose(report: Report) -> bool:
    """Whether `diagnose` made it, not `verify`."""
    return report.verdict in _OF_DIAGNOSE


def spelled(report: Report) -> str:
    """The verdict's own words: `GO, this machine only`."""
    local = report.verdict is Verdict.GO and report.target.kind == "local"
    return f"{report.verdict}, this machine only" if local else str(report.verdict)


def reason(report: Report) -> str:
    """What it rests on, to follow the verdict."""
    if of_diagnose(report):
        return _of_lines(report)
    if report.verdict is Verdict.GO:
        return _of_go(report)
    status = Status.FAIL if report.verdict is Verdict.NO_GO else Status.UNKNOWN
    bad = [f.key for f in report.findings if f.status is status]
    what = "failed finding" if status is Status.FAIL else "undetermined finding"
    if not bad:
        return "nothing was looked at"
    if status is Status.UNKNOWN and (ended := cut(report.run)):
        return f"{ended}: {count(len({key.check for key in bad}), 'check')} had no answer by then"
    if not report.diagnoses:
        return f"{count(len(bad), what)}, no known cause"
    verb = "explains" if len(report.diagnoses) == 1 else "explain"
    return f"{count(len(report.diagnoses), 'root cause')} {verb} {_explained_of(report, status)}"


def _explained_of(report: Report, status: Status) -> str:
    """`all 18 failed findings and 4 of 6 undetermined ones`: in sum, what root causes explain."""
    told = explained(report.diagnoses)
    parts = []
    for each in (status, *(s for s in BAD if s is not status)):
        of_status = [f for f in report.findings if f.status is each]
        number = sum(f.key in told for f in of_status)
        if not number and each is not status:
            continue
        amount = f"all {number}" if number == len(of_status) else f"{number} of {len(of_status)}"
        noun = f"{_NAMES[each]} {'finding' if each is status else 'one'}" if each is not Status.WARN else "warning"
        amount = "the only" if number == len(of_status) == 1 else amount
        parts.append(f"{amount} {noun}{'s' * (len(of_status) != 1)}")
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _of_lines(report: Report) -> str:
    kinds = count(len(report.findings), "kind")
    if report.verdict is Verdict.FAULT:
        causes = count(len(report.diagnoses), "root cause")
        verb = "reports" if len(report.findings) == 1 else "report"
        return f"{causes} for {kinds} of lines that {verb} a failure" if report.findings else causes
    if report.verdict is Verdict.NOTHING_FOUND:
        return "no line and no object says that something broke; that is no proof that all is well"
    number = len(report.diagnoses)
    known = "no known cause is proven" if not number else "one cause is likely and not proven"
    known = f"{number} causes are possible and none is proven" if number > 1 else known
    if not report.findings:
        if number:
            return known
        if report.run.interrupted:
            return "nothing that was read until then says that something broke"
        missed = any(c.text == NOT_READ for c in report.coverage.not_proven)
        return "not all could be read, and nothing else says that something broke" if missed else _TOO_LITTLE
    verb = "reports" if len(report.findings) == 1 else "report"
    return f"{kinds} of lines {verb} a failure, and {known}"


def _of_go(report: Report) -> str:
    subjects = [c.text for c in report.coverage.proven if " of " in c.text and not c.reason]
    warned = sum(f.status is Status.WARN for f in report.findings)
    warnings = [count(warned, "warning")] if warned else []
    found = [f"{name} was found and not touched" for name in report.target.untouched]
    return ", ".join([*subjects, f"level {report.run.level}", *warnings, *found])


def cut(run: RunInfo) -> str:
    """What ended the run before it was through, or ""."""
    if run.interrupted:
        return "interrupted"
    if not run.timed_out:
        return ""
    given = next((value for flag, value in run.flags or () if flag == "--timeout"), "")
    return f"the time given{f' (--timeout {given})' if given else ''} was up"


def next_step(report: Report) -> str:
    """What to do now, or ""."""
    run = report.run
    found = report.verdict is Verdict.NO_GO or (report.verdict is Verdict.UNDECIDED and not cut(run))
    if found and report.diagnoses:
        bad = {f.check for f in report.findings if f.status in (Status.FAIL, Status.UNKNOWN)}
        areas = [area for prefix, area in PREFIXES.items() if any(check.startswith(prefix) for check in bad)]
        only = ",".join(areas) if len(areas) <= _MOST_AREAS else ""
        return f"mend 1, then: {command(run, only, '' if run.timed_out else None)}"
    if report.verdict is Verdict.UNDECIDED and cut(run):
        return command(run, timeout=longer(run) if run.timed_out else None)
    if report.verdict is Verdict.UNDECIDED and any(flag == "--only" for flag, _ in run.flags or ()):
        return command(run, None)  # what was left out may say why
    if report.verdict in (Verdict.NO_GO, Verdict.UNDECIDED):
        worst = next((f.check for s in BAD for f in report.findings if f.status is s), "")
        return f"gonogo explain {worst}" if worst and worst != "bundle" else command(run)
    return ""


def explained(diagnoses: Iterable[Diagnosis]) -> set[FindingKey]:
    """All findings that root causes, or what follows from them, account for."""
    return {key for d in everyone(diagnoses) for key in d.explains}


def everyone(diagnoses: Iterable[Diagnosis]) -> Iterator[Diagnosis]:
    """The diagnoses and all that are folded under them."""
    for d in diagnoses:
        yield d
        yield from everyone(d.consequences)
