"""Exit codes, in one place."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from gonogo.model import Report

FailOn = Literal["fail", "unknown", "warn"]


class Exit(IntEnum):
    """0 go · 1 at least one fail · 2 wrong usage, nothing was checked · 3 undecided · 130 interrupted."""

    GO = 0
    FAIL = 1
    USAGE = 2
    UNDECIDED = 3
    INTERRUPTED = 130


def exit_of(report: Report, fail_on: FailOn = "fail") -> Exit:
    """The exit code of a report; `fail_on` lets lesser findings count as fails, and never makes one harmless."""
    from gonogo.model import Status, Verdict

    if report.run.interrupted:
        return Exit.INTERRUPTED
    if any(f.status.severity >= Status(fail_on).severity for f in report.findings):
        return Exit.FAIL
    return {Verdict.NO_GO: Exit.FAIL, Verdict.UNDECIDED: Exit.UNDECIDED}.get(report.verdict, Exit.GO)
