"""What breaks in the middle of a run: the user, gonogo itself, the API server, a node. Nothing is left or hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kube_verify import NO_FRAMEWORK, Running, left, verify
from testbed import Bed, start_node, tool, without_api_server

GONOGO = str(Path(sys.executable).with_name("gonogo"))


@pytest.fixture(autouse=True)
def nothing_is_left(bed: Bed) -> Iterator[None]:
    yield
    assert left(bed) == ""


def test_interrupted_by_the_user(bed: Bed, tmp_path: Path) -> None:
    run = Running(bed, tmp_path / "b")
    run.until('"step":"ports"')
    run.process.send_signal(signal.SIGINT)
    outcome = run.end()
    assert outcome.code == 130
    assert outcome.report["run"]["interrupted"]
    assert left(bed) == ""


def test_killed_and_cleaned_up(bed: Bed, tmp_path: Path) -> None:
    run = Running(bed, tmp_path / "b")
    run.until('"kind":"heartbeat"')
    run.process.kill()
    run.process.communicate()
    assert "job.batch/gonogo-" in left(bed)
    environment = {**os.environ, "KUBECONFIG": bed.kubeconfig}
    spared = subprocess.run([GONOGO, "cleanup", "-n", "default"], capture_output=True, text=True, env=environment)
    done = subprocess.run(
        [GONOGO, "cleanup", "-n", "default", "--all"], capture_output=True, text=True, env=environment
    )
    assert (spared.returncode, done.returncode) == (0, 0), (spared.stderr, done.stderr)
    assert "job/gonogo-" in spared.stdout + done.stdout
    deadline = time.monotonic() + 30
    while left(bed) and time.monotonic() < deadline:
        time.sleep(0.3)


@pytest.mark.usefixtures("alone")
def test_api_server_is_restarted(bed: Bed, tmp_path: Path) -> None:
    """Its process is killed while agents run, and another one comes up: the run goes on where it was."""
    if not bed.ours:
        pytest.skip("only the test cluster's API server is broken")
    run = Running(bed, tmp_path / "b", *NO_FRAMEWORK)
    run.until('"step":"ports"')
    with without_api_server(bed), pytest.raises(AssertionError, match="refused"):
        bed.kubectl("get", "nodes")
    outcome = run.end()
    assert outcome.verdict == "GO", [
        f["message"] for f in outcome.report["findings"] if f["status"] in ("fail", "unknown")
    ]
    assert outcome.messages("KUB106", "ok").startswith("0 of 3 objects that the run made are left")


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("how", [("--power-off",), ()], ids=["power", "kubelet"])
def test_node_goes_away(bed: Bed, tmp_path: Path, how: tuple[str, ...]) -> None:
    """In the middle of a run, and then it is looked at once more, as one that is gone."""
    if not bed.ours:
        pytest.skip("only nodes of the test cluster are broken")
    run = Running(bed, tmp_path / "b")
    run.until('"of":"collectives"')
    tool("node-stop", "node-1", *how)
    try:
        outcome = run.end()
        bed.kubectl("wait", "--for=condition=Ready=Unknown", "node/node-1", "--timeout=90s")
        after = verify(bed, level="read")
    finally:
        start_node("node-1")
        bed.kubectl("wait", "--for=condition=Ready", "node/node-1", "--timeout=60s")
        deadline = time.monotonic() + 60
        while left(bed) and time.monotonic() < deadline:  # the pod of the dead node goes when its kubelet is back
            time.sleep(0.5)
    assert outcome.verdict == "NO-GO", outcome.stderr
    assert "node/node-1" in outcome.report["diagnoses"][0]["subjects"], outcome.causes
    assert "its node node-1 is not ready, and has to confirm the deletion" in outcome.messages("KUB106", "warn")
    assert (after.code, after.verdict, after.causes[:1]) == (1, "NO-GO", ["node.kubelet_down"]), after.stderr
