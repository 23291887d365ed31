"""Exit codes: what a script can rely on."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from gonogo.cli.exits import Exit, FailOn, exit_of
from gonogo.model import CLUSTER, Coverage, Finding, Report, RunInfo, Status, TargetInfo, Verdict

RUN = RunInfo("r", "0", "quick", 0, 0, 0)


def report(*statuses: Status, interrupted: bool = False) -> Report:
    return Report(
        Verdict.of(statuses), dataclasses.replace(RUN, interrupted=interrupted), TargetInfo("local", "", ""), {},
        Coverage(), tuple(Finding(s, CLUSTER, "") for s in statuses), (), (),
    )  # fmt: skip


OK, SKIP, WARN, UNKNOWN, FAIL = Status


@pytest.mark.parametrize(
    ("statuses", "fail_on", "code"),
    [
        ((OK,), "fail", 0), ((OK, SKIP), "warn", 0), ((OK, WARN), "fail", 0), ((OK, WARN), "warn", 1),
        ((OK, WARN), "unknown", 0), ((OK, UNKNOWN), "fail", 3), ((OK, UNKNOWN), "unknown", 1), ((UNKNOWN,), "warn", 1),
        ((OK, FAIL), "fail", 1), ((UNKNOWN, FAIL), "fail", 1), ((), "fail", 3), ((SKIP,), "warn", 3),
    ],
)  # fmt: skip
def test_codes(statuses: tuple[Status, ...], fail_on: FailOn, code: int) -> None:
    assert exit_of(report(*statuses), fail_on) == code


def test_an_interrupted_run_is_130_whatever_it_found() -> None:
    assert exit_of(report(FAIL, interrupted=True)) is Exit.INTERRUPTED


def test_a_crash_of_gonogo_is_no_fail_of_the_cluster() -> None:
    program = (
        "import sys; from gonogo.cli import app, main; app.run = lambda *argv: 1 / 0; print('told before'); main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == Exit.UNDECIDED
    assert done.stdout == "told before\n"
    assert "ZeroDivisionError" in done.stderr
    assert done.stderr.endswith("gonogo: That is a mistake in gonogo, and says nothing of the cluster.\n")
