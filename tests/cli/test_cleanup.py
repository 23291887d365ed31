"""`gonogo cleanup` on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_old_bundles_go_and_the_latest_stay(tmp_path: Path) -> None:
    roots = [tmp_path / "gonogo" / f"20260101-{n:06}-abc123" for n in range(22)]
    for root in roots:
        root.mkdir(parents=True)
        os.utime(root, (0, 0))
    done = subprocess.run(
        [sys.executable, "-m", "gonogo.cli", "cleanup", "--bundles"], capture_output=True, text=True, timeout=60,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0
    assert {str(root) for root in roots[:2]} <= set(done.stdout.splitlines())
    assert done.stderr.endswith("2 old bundles removed.\n")
    assert [root.exists() for root in roots] == [False] * 2 + [True] * 20


def test_help_has_only_flags_that_matter_and_tells_what_stays() -> None:
    done = subprocess.run([sys.executable, "-m", "gonogo.cli", "cleanup", "--help"], capture_output=True, text=True)
    assert "--context" in done.stdout and "last hour" in " ".join(done.stdout.split())
    assert not [word for word in ("--like", "--image", "--no-gpu", "Verify the cluster") if word in done.stdout]


def test_all_of_this_machine_is_refused() -> None:
    done = subprocess.run([sys.executable, "-m", "gonogo.cli", "cleanup", "--all"], capture_output=True, text=True)
    assert done.returncode == 2 and "--context" in done.stderr


def test_bundles_stay_unless_they_are_meant(tmp_path: Path) -> None:
    roots = [tmp_path / "gonogo" / f"20260101-{n:06}-abc123" for n in range(22)]
    for root in roots:
        root.mkdir(parents=True)
        os.utime(root, (0, 0))
    done = subprocess.run(
        [sys.executable, "-m", "gonogo.cli", "cleanup"], capture_output=True, text=True, timeout=60,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0 and all(root.exists() for root in roots)


def test_bundles_of_a_cluster_are_refused() -> None:
    words = ["cleanup", "--bundles", "--context", "x"]
    done = subprocess.run([sys.executable, "-m", "gonogo.cli", *words], capture_output=True, text=True)
    assert done.returncode == 2 and "--bundles is for this machine" in done.stderr
