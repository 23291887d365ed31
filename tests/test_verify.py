"""A run from its documents to its report, with a toy registry: kept, replayed, interrupted, crashed."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from toys import LEVEL, Agents, registry, target

from gonogo import target as targets
from gonogo.documents import replay
from gonogo.documents.bundle import Bundle
from gonogo.kernel import Diagnosed
from gonogo.model import Report, Status, Verdict
from gonogo.plan import Plan, parse
from gonogo.report.json import as_data
from gonogo.selection import reselect, select
from gonogo.verify import Started, Told, verify

BOUND_SECONDS = 2 + 3  # what is promised, and what a loaded machine takes for nothing
PLAN = parse(b"{name: toy, expect: {linkGbps: 9}}", "plan")


def run(
    root: Path,
    here: Agents | None = None,
    only: tuple[str, ...] = (),
    skip: tuple[str, ...] = (),
    on_event: Callable[[Told], None] = lambda event: None,
) -> Report:
    known = registry()
    return verify(
        target(here), PLAN, registry=known, selection=select(known, only, skip), run_id="k7f3", level=LEVEL,
        bundle=Bundle.create(root), on_event=on_event,
    )  # fmt: skip


def again(path: Path) -> Report:
    recorded = replay.read(path)
    old = targets.recorded(recorded.run, recorded.logs, recorded.notes, path.name)
    assert old.run
    known = registry()
    return verify(
        old, PLAN, registry=known, selection=reselect(known, recorded.run), run_id=old.run.id, level=old.run.level
    )  # fmt: skip


def statuses(report: Report) -> dict[str, set[Status]]:
    found: dict[str, set[Status]] = {}
    for finding in report.findings:
        found.setdefault(finding.check, set()).add(finding.status)
    return found


def test_a_healthy_run_is_go_and_says_what_it_rests_on(tmp_path: Path) -> None:
    report = run(tmp_path / "b")
    assert report.verdict is Verdict.GO
    assert [c.text for c in report.coverage.proven] == ["2 of 2 nodes", "2 of 2 links"]
    assert statuses(report)["KUB001"] == {Status.SKIP}
    assert report.run.agent_sha256 == "abc"
    assert report.target.summary == "this machine, 2 nodes on loopback addresses"
    assert "MTU and link speed between nodes" in [c.text for c in report.coverage.not_proven]


def test_a_blocked_port_is_no_go_with_its_cause(tmp_path: Path) -> None:
    report = run(tmp_path / "b", Agents(blocked=True))
    assert report.verdict is Verdict.NO_GO
    assert [d.cause for d in report.diagnoses] == ["network.port_blocked"]
    assert {k.check for k in report.diagnoses[0].explains} == {"NET001"}


@pytest.mark.parametrize("here", [Agents(), Agents(blocked=True), Agents(crash=True)])
def test_judging_a_bundle_again_gives_the_same_report(tmp_path: Path, here: Agents) -> None:
    report = run(tmp_path / "b", here, skip=("LNK001=noisy",) if here.blocked else ())
    assert as_data(again(tmp_path / "b")) == as_data(report)
    assert json.loads((tmp_path / "b/report.json").read_text()) == as_data(report)


@pytest.mark.parametrize("folder", [".", "bundle"])
def test_an_archive_is_as_good_as_its_folder(tmp_path: Path, folder: str) -> None:
    report = run(tmp_path / "b", Agents(blocked=True))
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "b", folder)
    assert as_data(again(tmp_path / "b.tar.gz")) == as_data(report)


def test_secrets_never_reach_the_bundle(tmp_path: Path) -> None:
    run(tmp_path / "b", Agents(secret="hunter2hunter2"))
    texts = [p.read_text() for p in (tmp_path / "b").rglob("*") if p.is_file()]
    assert any("API_TOKEN" in text for text in texts)
    assert not any("hunter2" in text for text in texts)


def test_secrets_of_the_plan_are_in_no_report(tmp_path: Path) -> None:
    plan = parse(b"job: {environment: {HF_TOKEN: hunter2hunter2, NCCL_DEBUG: INFO}}", "plan")
    known, bundle = registry(), Bundle.create(tmp_path / "b")
    report = verify(
        target(), plan, registry=known, selection=select(known), run_id="k7f3", level=LEVEL, bundle=bundle
    )  # fmt: skip
    assert report.plan == {"job": {"environment": {"HF_TOKEN": "[redacted]", "NCCL_DEBUG": "INFO"}}}
    assert not any("hunter2" in p.read_text() for p in (tmp_path / "b").rglob("*") if p.is_file())


def test_a_crashed_collector_leaves_an_unknown_and_its_traceback(tmp_path: Path) -> None:
    report = run(tmp_path / "b", Agents(crash=True))
    assert report.verdict is Verdict.UNDECIDED
    assert statuses(report)["LNK001"] == {Status.UNKNOWN}
    assert "the wire is cut" in (tmp_path / "b/tracebacks.txt").read_text()
    assert "Traceback" not in json.dumps(as_data(report))


def test_a_cause_is_told_while_the_rest_still_runs(tmp_path: Path) -> None:
    go_on, waiting = threading.Event(), threading.Event()
    told: list[Told] = []

    def on_event(event: Told) -> None:
        told.append(event)
        if isinstance(event, Diagnosed):
            go_on.set()  # links wait for this

    report = run(tmp_path / "b", Agents(True, silent_links=go_on, waiting=waiting), on_event=on_event)
    assert isinstance(told[0], Started)
    assert go_on.is_set()
    assert report.diagnoses


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_run_with_what_is_there(tmp_path: Path, number: int) -> None:
    here = Agents(blocked=True, silent_links=threading.Event(), waiting=threading.Event())
    sent: list[float] = []

    def interrupt() -> None:
        assert here.waiting
        here.waiting.wait(10)
        sent.append(time.monotonic())
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=interrupt)
    thread.start()
    before = signal.getsignal(number)
    report = run(tmp_path / "b", here)
    assert time.monotonic() - sent[0] < BOUND_SECONDS
    thread.join()
    assert report.run.interrupted
    assert report.verdict is Verdict.NO_GO  # the blocked port was known by then
    assert statuses(report)["LNK001"] == {Status.UNKNOWN}
    assert signal.getsignal(number) is before
    assert as_data(again(tmp_path / "b")) == as_data(report)


def test_an_interrupt_that_wakes_another_thread_ends_the_run_too(tmp_path: Path) -> None:
    here = Agents(silent_links=threading.Event(), waiting=threading.Event())
    sent: list[float] = []

    def interrupt() -> None:
        assert here.waiting
        here.waiting.wait(10)
        time.sleep(0.2)  # by now the run waits for the agents
        sent.append(time.monotonic())
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    report = run(tmp_path / "b", here)
    assert time.monotonic() - sent[0] < BOUND_SECONDS
    thread.join()
    assert report.run.interrupted


def test_what_nohup_ignores_ends_no_run(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        report = run(tmp_path / "b", on_event=lambda event: os.kill(os.getpid(), signal.SIGHUP))
    finally:
        signal.signal(signal.SIGHUP, before)
    assert not report.run.interrupted
    assert report.verdict is Verdict.GO


def test_a_second_interrupt_ends_the_process_at_once(tmp_path: Path) -> None:
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)

        def on_event(event: Told) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            os.write(write, b"still here")

        run(tmp_path / "b", on_event=on_event)
        os._exit(0)
    os.close(write)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert os.read(read, 100) == b""


def test_only_what_is_asked_for_is_collected(tmp_path: Path) -> None:
    report = run(tmp_path / "b", only=("KUB001",))
    assert statuses(report) == {"KUB001": {Status.SKIP}}
    assert report.verdict is Verdict.UNDECIDED  # nothing was looked at
    assert not (tmp_path / "b/agents").exists()


def test_a_skipped_check_is_listed_with_the_users_reason(tmp_path: Path) -> None:
    report = run(tmp_path / "b", skip=("LNK001=noisy",))
    assert [(c.checks, c.reason) for c in report.coverage.not_proven if c.reason == "noisy"] == [(("LNK001",), "noisy")]


def _cut(root: Path, name: str, keep: float) -> None:
    path = root / name
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * keep)])


def test_a_bundle_that_was_cut_off_is_never_green(tmp_path: Path) -> None:
    run(tmp_path / "b")
    _cut(tmp_path / "b", "agents/node1.jsonl", 0.6)
    report = again(tmp_path / "b")
    assert report.verdict is Verdict.UNDECIDED
    assert [f.message for f in report.findings if f.check == "bundle"] == ["agents/node1.jsonl is cut off in line 3."]
    assert Status.OK in statuses(report)["NET001"]  # what is there is still judged


@pytest.mark.parametrize("damage", ["missing", "cut", "binary", "list", "foreign types"])
def test_a_bundle_without_its_run_gives_what_it_can(tmp_path: Path, damage: str) -> None:
    report = run(tmp_path / "b", Agents(blocked=True))
    path = tmp_path / "b/run.json"
    if damage == "missing":
        path.unlink()
    elif damage == "foreign types":
        data = json.loads(path.read_text())
        path.write_text(json.dumps({key: [1, {"a": None}] for key in data if key != "checks"}))
    else:
        path.write_bytes({"cut": path.read_bytes()[:50], "binary": bytes(range(256)), "list": b"[]"}[damage])
    found = again(tmp_path / "b")
    assert found.verdict is Verdict.NO_GO
    assert found.diagnoses == report.diagnoses
    assert damage == "foreign types" or any("run.json" in f.message for f in found.findings)


def test_records_of_another_version_are_told_and_not_guessed(tmp_path: Path) -> None:
    run(tmp_path / "b")
    path = tmp_path / "b/agents/node0.jsonl"
    path.write_text(path.read_text().replace('"v": 1', '"v": 2'))
    report = again(tmp_path / "b")
    assert report.verdict is Verdict.UNDECIDED
    assert any("records of version 2; this gonogo reads version 1" in f.message for f in report.findings)


def test_without_the_launchers_file_steps_are_judged_by_what_agents_wrote(tmp_path: Path) -> None:
    run(tmp_path / "b")
    (tmp_path / "b/agents/fabric.jsonl").unlink()
    logs = replay.read(tmp_path / "b").logs
    ended = {kind.__name__: dict(log.ended) for kind, log in logs.items() if hasattr(log, "ended")}
    assert set(ended) == {"NodeLog", "PortsLog", "LinksLog"}
    assert ended["PortsLog"]["node0"] == "its records end at line 4 of agents/node0.jsonl"


def test_the_report_holds_everything_that_can_be_told(tmp_path: Path) -> None:
    report = run(tmp_path / "b")
    assert report.plan == {"name": "toy", "expect": {"linkGbps": 9.0}}
    assert [t.step for t in report.timings] == ["node", "ports", "links"]
    assert dataclasses.replace(report) == report
    assert Plan() != PLAN


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device of Linux")
@pytest.mark.parametrize("blocked", [False, True])
def test_a_disk_that_fills_up_takes_the_green_and_not_the_report(tmp_path: Path, blocked: bool) -> None:
    def fill(event: Told) -> None:
        partial = tmp_path / "b" / ".report.json.partial"
        if not partial.is_symlink():
            partial.symlink_to("/dev/full")

    report = run(tmp_path / "b", Agents(blocked=blocked), on_event=fill)
    assert report.verdict is (Verdict.NO_GO if blocked else Verdict.UNDECIDED)
    told = [f.message for f in report.findings if f.check == "bundle"]
    assert told == [f"{tmp_path}/b/report.json: can't be written: No space left on device."]
