"""`--markdown FILE` and `-o markdown`, the same for verify and diagnose."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gonogo

DEMO = Path(gonogo.__file__).parent / "data" / "demo"


def gonogo_(*argv: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gonogo.cli", *map(str, argv)], capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("argv", [("verify", "--from"), ("diagnose",)])
def test_the_file_holds_what_stdout_would(argv: tuple[str, ...], tmp_path: Path) -> None:
    done = gonogo_(*argv, DEMO, "--markdown", tmp_path / "comment.md", "-o", "markdown")
    text = (tmp_path / "comment.md").read_text()
    assert done.returncode == 1 and text.startswith(f"## gonogo {argv[0]}: ")
    if argv[0] == "verify":  # the other says how long it took
        assert text == done.stdout


@pytest.mark.parametrize("argv", [("verify", "--from"), ("diagnose",)])
def test_a_file_that_cannot_be_written_is_said_before_anything_is_read(argv: tuple[str, ...], tmp_path: Path) -> None:
    done = gonogo_(*argv, tmp_path / "absent", "--markdown", tmp_path / "no" / "comment.md")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "can't be written" in done.stderr
