"""`gonogo verify` for real, small: agents on this machine, their bundle, its replay, Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from junitparser import JUnitXml

from gonogo.report.schema import SCHEMA

pytestmark = pytest.mark.fabric
GONOGO = [sys.executable, "-m", "gonogo.cli"]
SMALL = ["--nodes", "2", "--level", "quick"]


def environment(home: Path, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONUTF8": "1",
        "XDG_STATE_HOME": str(home / "state"),
        "KUBECONFIG": str(home / "none"),
        **more,
    }


def gonogo(home: Path, *argv: object, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*GONOGO, *map(str, argv)], capture_output=True, text=True, timeout=120, env=environment(home, **more)
    )


def when(report: dict[str, Any], which: str) -> float:
    """When the run started or ended, in seconds."""
    return datetime.fromisoformat(report["run"][which]).timestamp()


def without_times(report: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key not in ("run", "timings")}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of the checks that need no framework, with everything written that can be."""
    home = tmp_path_factory.mktemp("verify")
    (home / "kube").write_text("apiVersion: v1\ncurrent-context: prod\n")
    done = gonogo(
        home, "verify", *SMALL, "--only", "node,network,link", "--skip", "LNK*=later", "--bundle", home / "bundle",
        "--junit", home / "out.xml", "-o", "json", KUBECONFIG=str(home / "kube"),
    )  # fmt: skip
    (home / "out.json").write_text(done.stdout)
    (home / "err").write_text(done.stderr)
    (home / "code").write_text(str(done.returncode))
    return home


def test_a_healthy_machine_is_go(home: Path) -> None:
    report = json.loads((home / "out.json").read_text())
    jsonschema.validate(report, SCHEMA)
    assert (home / "code").read_text() == "0", report["findings"]
    assert report["verdict"] == "GO"
    assert report["target"]["untouched"] == ["kube context prod"]
    assert "2 of 2 nodes" in [claim["text"] for claim in report["coverage"]["proven"]]
    assert "later" in [claim["reason"] for claim in report["coverage"]["not_proven"]]
    assert [t["step"] for t in report["timings"]] == ["node", "ports"]  # nothing else was asked for


def test_what_is_no_data_goes_to_stderr(home: Path) -> None:
    lines = (home / "err").read_text().splitlines()
    assert re.fullmatch(r"gonogo verify · this machine, 2 nodes · quick · at most .+ · run \w+", lines[0])
    assert lines[-1] == f"bundle {home / 'bundle'}"


def test_junit_has_what_the_report_has(home: Path) -> None:
    report = json.loads((home / "out.json").read_text())
    assert JUnitXml.fromfile(str(home / "out.xml")).tests == len(report["findings"])


def test_the_bundle_gives_the_same_report_again(home: Path) -> None:
    done = gonogo(home, "verify", "--from", home / "bundle", "-o", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == json.loads((home / "out.json").read_text())
    table = gonogo(home, "verify", "--from", home / "bundle", COLUMNS="160").stdout
    assert re.search(
        r"\nGO, this machine only   .*2 of 2 nodes.*, kube context prod was found and not touched\n", table
    )


def test_where_only_ascii_is_shown_all_is_ascii(home: Path) -> None:
    done = gonogo(home, "verify", "--from", home / "bundle", "-o", "wide", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()


def test_collect_keeps_what_verify_judges(home: Path, tmp_path: Path) -> None:
    packed = tmp_path / "case.tar.gz"
    done = gonogo(home, "collect", packed, *SMALL, "--only", "network")
    assert (done.returncode, done.stdout) == (0, f"{packed}\n")
    assert gonogo(home, "verify", "--from", packed).returncode == 0
    assert gonogo(home, "collect", packed, *SMALL).returncode == 2  # never overwritten


def test_an_interface_that_is_not_there_is_no_go_and_named(home: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("name: vision\njob:\n  environment: {GLOO_SOCKET_IFNAME: nosuch0}\n")
    done = gonogo(home, "verify", *SMALL, "-f", tmp_path / "plan.yaml", "--only", "gloo,collective", "-o", "name")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "cause/gloo.interface_wrong"
    assert "gloo.interface_wrong: " in done.stderr  # named while the run went on


def test_the_timeout_ends_a_run_with_what_is_there(home: Path) -> None:
    done = gonogo(home, "verify", *SMALL, "--timeout", "1s", "-o", "json")
    report = json.loads(done.stdout)
    assert when(report, "ended") - when(report, "started") < 1 + 2 + 4  # the end takes 2 s, and a busy machine more
    assert (done.returncode, report["verdict"]) == (3, "UNDECIDED")
    assert report["run"]["bound_seconds"] == 1


def _read(fd: int, seconds: float) -> str:
    """What comes on a terminal in that time, or until it is closed."""
    text, until = b"", time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and select.select([fd], [], [], left)[0]:
        try:
            chunk = os.read(fd, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        text += chunk
    return text.decode()


def test_a_terminal_sees_progress_and_ctrl_c_gives_a_partial_report(home: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*GONOGO, "verify", *SMALL, "--bundle", str(tmp_path / "b"), "-o", "json"], stdin=theirs, stderr=theirs,
        stdout=subprocess.PIPE, text=True, env=environment(home, TERM="xterm", COLUMNS="100"), start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = ""
    while "collectives" not in shown or "✓" not in shown:
        more = _read(ours, 0.3)
        shown += more
        assert process.poll() is None, shown
    sent = time.time()
    process.send_signal(signal.SIGINT)
    assert process.stdout
    report = json.loads(process.stdout.read())
    assert process.wait() == 130
    assert when(report, "ended") - sent < 2 + 4  # what is promised, and what a busy machine takes for nothing
    assert report["run"]["interrupted"]
    jsonschema.validate(report, SCHEMA)
    assert "Ctrl-C ends it" in shown
    assert json.loads((tmp_path / "b/report.json").read_text()) == report
    os.close(ours)
    again = gonogo(home, "verify", "--from", tmp_path / "b", "-o", "json")
    assert again.returncode == 130
    assert json.loads(again.stdout) == report


def test_what_to_do_next_is_by_the_same_plan_on_as_many_nodes(tmp_path: Path) -> None:
    """Also where the bundle is judged again; a bundle of a run that kept no flags makes no command of this machine."""
    plan = tmp_path / "too much.yaml"
    plan.write_text("expect: {linkGbps: 90000}\n")
    bundle = tmp_path / "b"
    argv = ["-f", str(plan), "--nodes", "2", "--level", "quick", "--only", "link", "--bundle", str(bundle)]
    step = f"gonogo verify -f '{plan}' --nodes 2 --level quick --only link"
    assert step in gonogo(tmp_path, "verify", *argv).stdout
    assert step in gonogo(tmp_path, "verify", "--from", bundle).stdout
    kept = json.loads((bundle / "run.json").read_text())
    del kept["run"]["flags"]
    (bundle / "run.json").write_text(json.dumps(kept))
    assert "gonogo verify … --only link" in gonogo(tmp_path, "verify", "--from", bundle).stdout
