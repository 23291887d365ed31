"""The example in CONTRIBUTING.md works as it stands there."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gonogo import kernel, registry
from gonogo.documents.records import NodeLog, Record, step_log
from gonogo.kernel import CheckDone, Registry, Run
from gonogo.kernel.steps import REGISTRY
from gonogo.model import Status
from gonogo.registry import load

TEXT = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")


CHECK, TEST = (textwrap.dedent(code) for code in re.findall(r"^ *```python\n(.*?)```", TEXT, re.DOTALL | re.MULTILINE))


def with_the_example(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry with that check alone."""
    mine = Registry(makers=load().makers)
    monkeypatch.setattr(kernel, "check", mine.check)
    module = ModuleType("lim901")
    monkeypatch.setitem(sys.modules, "lim901", module)
    exec(compile(CHECK, "CONTRIBUTING.md", "exec"), module.__dict__)
    return mine


def test_the_test_of_the_example_passes_and_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = with_the_example(monkeypatch)
    monkeypatch.setattr(registry, "load", lambda: mine)
    names: dict[str, Any] = {}
    exec(compile(TEST, "CONTRIBUTING.md", "exec"), names)
    (test,) = (value for name, value in names.items() if name.startswith("test_"))
    test()
    monkeypatch.setitem(sys.modules["lim901"].__dict__, "NEEDED", 30)
    with pytest.raises(AssertionError):
        test()


@pytest.mark.parametrize(("files", "status"), [(1024, Status.OK), (256, Status.FAIL), (None, Status.UNKNOWN)])
def test_the_example_judges_limits(monkeypatch: pytest.MonkeyPatch, files: int | None, status: Status) -> None:
    mine = with_the_example(monkeypatch)
    info = {"v": 1, "node": "node0", "step": "node", "kind": "info", "limits": {"nofile": [files, files]}}
    records = [Record(info, "agents/node0.jsonl", 1)] if files else []
    log = step_log("node", ["node0"], records, {"node0": ""})
    found = [f for e in Run(mine, mine.checks.values(), {NodeLog: log}) if isinstance(e, CheckDone) for f in e.findings]
    assert [f.status for f in found] == [status]
    assert mine.checks["LIM901"].title == "Every node has enough open files for its connections"
    assert "LIM901" not in REGISTRY.checks
