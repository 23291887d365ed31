"""A run's command, to be typed again."""

from __future__ import annotations

import dataclasses

import pytest
from reports import DIAGNOSES, FINDINGS, REPORT

from gonogo.model import CLUSTER, Finding, Flags, RunInfo, Status, Verdict
from gonogo.report.again import command, in_context
from gonogo.report.terminal import render
from gonogo.report.verdict import next_step, reason

CLUSTER_FLAGS: Flags = (
    ("--context", "my eks"), ("-n", "ml"), ("-l", "group=a"), ("--like", "job.yaml"), ("--no-gpu", ""),
)  # fmt: skip
IN_CLUSTER = "gonogo verify --context 'my eks' -n ml -l group=a --like job.yaml --no-gpu"


def run(flags: Flags | None = (), **more: object) -> RunInfo:
    return dataclasses.replace(REPORT.run, flags=flags, **more)


@pytest.mark.parametrize(
    ("flags", "typed"),
    [
        ((), "gonogo verify --only link"),
        ((("-f", "fail.yaml"), ("--nodes", "3"), ("--level", "quick")),
         "gonogo verify -f fail.yaml --nodes 3 --level quick --only link"),
        (CLUSTER_FLAGS, f"{IN_CLUSTER} --only link"),
        ((("--only", "train"), ("--skip", "LNK003=it's noisy")),
         """gonogo verify --skip 'LNK003=it'"'"'s noisy' --only link"""),
        (None, "gonogo verify … --only link"),
    ],
)  # fmt: skip
def test_the_run_again_with_other_checks(flags: Flags | None, typed: str) -> None:
    assert command(run(flags), "link") == typed


def test_what_to_do_next_stays_in_the_cluster() -> None:
    report = dataclasses.replace(REPORT, run=run(CLUSTER_FLAGS))
    assert next_step(report) == f"mend 1, then: {IN_CLUSTER} --only network,train"


@pytest.mark.parametrize(
    ("advice", "typed"),
    [
        ("Run `gonogo verify --only link`.", f"Run `{IN_CLUSTER} --only link`."),
        ("gonogo verify -l zone=b", f"{IN_CLUSTER.replace(' -l group=a', '')} -l zone=b"),
        ("gonogo verify --nodes 1  # on node3", "gonogo verify --nodes 1  # on node3"),
        ("gonogo verifying", "gonogo verifying"),
    ],
)
def test_advice_is_of_the_same_target(advice: str, typed: str) -> None:
    inner = dataclasses.replace(DIAGNOSES[0], commands=(advice,))
    outer = dataclasses.replace(DIAGNOSES[1], next_observation=advice, consequences=(inner,))
    told = in_context(outer, run(CLUSTER_FLAGS))
    assert told.next_observation == typed and told.consequences[0].commands == (typed,)


LOST = tuple(Finding(Status.UNKNOWN, CLUSTER, "not finished", check=f"COL00{n}") for n in range(1, 4))


def test_a_run_whose_time_was_up_says_so_and_what_it_needs() -> None:
    ended = run((("--nodes", "2"), ("--timeout", "5s")), timed_out=True, uncut_seconds=206.7)
    report = dataclasses.replace(REPORT, verdict=Verdict.UNDECIDED, findings=LOST, diagnoses=(), run=ended)
    assert reason(report) == "the time given (--timeout 5s) was up: 3 checks had no answer by then"
    assert next_step(report) == "gonogo verify --nodes 2 --timeout 4m"


def test_an_interrupted_run_says_so_once_and_is_to_be_repeated() -> None:
    ended = run((("--only", "link"),), interrupted=True)
    report = dataclasses.replace(REPORT, verdict=Verdict.UNDECIDED, findings=LOST, diagnoses=(), run=ended)
    assert "UNDECIDED   interrupted: 3 checks had no answer by then\n" in render(report)
    assert render(report).count("interrupted") == 1
    assert next_step(report) == "gonogo verify --only link"


def test_a_no_go_after_too_short_a_time_is_told_without_that_time() -> None:
    ended = run((("--timeout", "5s"),), timed_out=True)
    report = dataclasses.replace(REPORT, run=ended, findings=FINDINGS)
    assert "the time given (--timeout 5s) was up: this is what was known by then" in render(report)
    assert next_step(report) == "mend 1, then: gonogo verify --only network,train"


def test_a_clusters_node_is_reached_by_kubectl() -> None:
    one = dataclasses.replace(DIAGNOSES[0], commands=("df -h  # on node-0", "df -h  # on node-1"), consequences=())
    shell = "debug node/node-0 -it --profile=sysadmin --image=busybox -- chroot /host  # for a shell on node-0"
    assert in_context(one, run(CLUSTER_FLAGS), in_cluster=True).commands == (
        f"kubectl --context 'my eks' {shell}", *one.commands
    )  # fmt: skip
    assert in_context(one, run(()), in_cluster=True).commands[0] == f"kubectl {shell}"
    assert in_context(one, run(CLUSTER_FLAGS)).commands == one.commands
    away = dataclasses.replace(one, commands=("kubectl get nodes", "kubectl --context b get pods", "df  # kubectl x"))
    assert in_context(away, run(CLUSTER_FLAGS), in_cluster=True).commands == (
        "kubectl --context 'my eks' get nodes", *away.commands[1:]
    )  # fmt: skip
    assert in_context(away, run(CLUSTER_FLAGS)).commands == in_context(away, run(()), True).commands == away.commands
