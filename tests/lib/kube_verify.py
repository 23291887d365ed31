"""Runs of gonogo against a real cluster, as a program and its JSON report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed import IMAGE, Bed

Dict = dict[str, Any]
NO_FRAMEWORK = ("--skip", "collective,train,gloo")
"""Pods and all that they probe, without torch: half of a run's seconds."""


@dataclass
class Outcome:
    """What a run came to."""

    report: Dict
    code: int
    seconds: float
    stderr: str
    lines: list[tuple[float, str]] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        return str(self.report["verdict"])

    @property
    def causes(self) -> list[str]:
        return [d["cause"] for d in self.report["diagnoses"]]

    def of(self, check: str, *statuses: str) -> list[Dict]:
        return [f for f in self.report["findings"] if f["check"] == check and (not statuses or f["status"] in statuses)]

    def messages(self, check: str, *statuses: str) -> str:
        return " | ".join(f["message"] for f in self.of(check, *statuses))


def command(*words: str, level: str = "quick", image: str = IMAGE, context: str = "") -> list[str]:
    where = ["--context", context] if context else []
    if not context and (named := os.environ.get("GONOGO_TEST_CONTEXT")):
        where = ["--context", named]
    if image:
        where += ["--image", image]
    if not where and "-n" not in words:
        where = ["-n", "default"]
    return [str(Path(sys.executable).with_name("gonogo")), "verify", *where, "--level", level, "-o", "json", *words]


def verify(bed: Bed, *words: str, level: str = "quick", image: str = IMAGE, kubeconfig: str = "") -> Outcome:
    """Run to the end."""
    environment = {**os.environ, "KUBECONFIG": kubeconfig or bed.kubeconfig}
    began = time.monotonic()
    done = subprocess.run(
        command(*words, level=level, image=image), capture_output=True, text=True, env=environment, timeout=240
    )
    seconds = time.monotonic() - began
    report = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    return Outcome(report, done.returncode, seconds, done.stderr)


def left(bed: Bed) -> str:
    """What of gonogo's is in the cluster."""
    return bed.kubectl(
        "get", "jobs,pods,services,configmaps", "-A", "-l", "app.kubernetes.io/managed-by=gonogo", "-o", "name"
    )


class Running:
    """A run that is going, of which a moment can be awaited by what its bundle holds."""

    def __init__(self, bed: Bed, bundle: Path, *words: str, level: str = "quick", kubeconfig: str = "") -> None:
        environment = {**os.environ, "KUBECONFIG": kubeconfig or bed.kubeconfig}
        self.bundle = bundle
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            command("--bundle", str(bundle), *words, level=level),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def until(self, text: str, files: str = "agents/*.jsonl", seconds: float = 120.0) -> None:
        """Wait until a document holds a text; fails if the run ends before, or it takes too long."""
        deadline = time.monotonic() + seconds
        while not any(text in path.read_text(errors="replace") for path in self.bundle.glob(files)):
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline, f"{text} never came"
            time.sleep(0.05)

    def end(self) -> Outcome:
        """The outcome, when the run is over."""
        out, err = self.process.communicate(timeout=240)
        report = json.loads(out) if out.startswith("{") else {}
        return Outcome(report, self.process.returncode, time.monotonic() - self.began, err)
