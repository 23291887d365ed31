"""The agent as one file: the same each time, small, and running alone under every Python from 3.10 on."""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gonogo
from gonogo.agent.build import build, write
from gonogo.agent.guard import guarded
from gonogo.agent.records import Writer

ROOT = Path(gonogo.__file__).parent
SOURCES = sorted([*(ROOT / "agent").rglob("*.py"), *(ROOT / "links").rglob("*.py")])
IN_CHILDREN = {"torch", "numpy", "tensorflow", "horovod"}


def imports(tree: ast.Module) -> set[str]:
    found = set()
    for item in ast.walk(tree):
        if isinstance(item, ast.Import):
            found |= {alias.name for alias in item.names}
        elif isinstance(item, ast.ImportFrom) and item.module:
            found |= (
                {f"{item.module}.{alias.name}" for alias in item.names} if item.module == "gonogo" else {item.module}
            )
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_sources_parse_under_python_3_10_and_import_only_what_they_may(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 10))
    allowed = ("gonogo.links",) if path.parent.name == "links" else ("gonogo.links", "gonogo.agent")
    for name in imports(tree):
        ours = name == "gonogo" or name.startswith(allowed)
        assert ours or name.split(".")[0] in sys.stdlib_module_names | IN_CHILDREN, f"{path.name} imports {name}"


def test_the_archive_is_the_same_each_time_and_small(tmp_path: Path) -> None:
    digest = write(tmp_path / "a.pyz")
    assert digest == hashlib.sha256(build()).hexdigest() == write(tmp_path / "b.pyz")
    assert len(build()) < 1 << 19


def pythons() -> list[str]:
    found = {p for p in (shutil.which(f"python3.{minor}") for minor in range(10, 15)) if p}
    works = [p for p in sorted(found) if subprocess.run([p, "-c", ""], capture_output=True).returncode == 0]
    return [sys.executable, *works]


@pytest.mark.parametrize("python", pythons())
def test_the_archive_runs_alone(agents: Callable[..., Any], tmp_path: Path, python: str) -> None:
    archive = tmp_path / "gonogo-agent.pyz"
    digest = write(archive)
    spec = agents(1, steps=["node", "ports", "join", "links"]).spec
    (tmp_path / "s.json").write_text(spec.to_json())
    command = [python, "-I", str(archive), "--spec", str(tmp_path / "s.json"), "--index", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd="/")
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert records[0]["kind"] == "start" and records[0]["sha256"] == digest
    assert records[-1]["kind"] == "finish"
    assert [r["seq"] for r in records] == list(range(len(records)))
    assert not [r for r in records if r["kind"] == "crash"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "--spec"),
        (["--spec", "nowhere.json"], "nowhere.json"),
        (["--spec", "s.json"], "--index: expected 0 to 0"),
        (["--spec", "s.json", "--index", "1"], "--index: expected 0 to 0, got 1"),
        (["--spec", "bad.json", "--index", "0"], "not an agent's spec"),
    ],
)
def test_a_wrong_call_is_one_line_and_2(
    agents: Callable[..., Any], tmp_path: Path, arguments: list[str], expected: str
) -> None:
    write(tmp_path / "a.pyz")
    (tmp_path / "s.json").write_text(agents(1).spec.to_json())
    (tmp_path / "bad.json").write_text('{"peers": [], "colour": "red"}')
    done = subprocess.run([sys.executable, "-I", "a.pyz", *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and expected in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bug_costs_its_step_and_not_the_run(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as out:
        writer = Writer("run", "node0", out)
        with guarded(writer, "ports"):
            raise KeyError("a bug")
        with guarded(writer, "join"):
            pass
    records = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [(r["kind"], r["of"]) for r in records] == [
        ("begin", "ports"), ("crash", "ports"), ("end", "ports"), ("begin", "join"), ("end", "join")
    ]  # fmt: skip
    assert "KeyError: 'a bug'" in records[1]["traceback"] and "crashed" in records[2]["error"]
    assert records[-1]["error"] == ""
