"""Checks of third parties come in by an entry point; one that is broken is named."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from gonogo import registry
from gonogo.errors import InputError
from gonogo.kernel import REGISTRY

PLUGIN = '''"""Nodes are painted.

## Why it matters
They look better.
"""
from collections.abc import Iterator
from gonogo.kernel import check
from gonogo.model import CLUSTER, Finding, Status
from gonogo.plan import Plan

@check("HRD901")
def painted(plan: Plan) -> Iterator[Finding]:
    yield Finding(Status.OK, CLUSTER, "1 of 1 nodes is painted.")
'''


def test_a_plug_in_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "painted_nodes.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("painted", "painted_nodes", registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry] if group == "gonogo.checks" else [])
    try:
        assert registry.load().checks["HRD901"].title == "Nodes are painted"
    finally:
        REGISTRY.checks.pop("HRD901", None)


@pytest.mark.parametrize("text", ["import nothing_of_that_name", 'from gonogo.kernel import check\ncheck("X")(len)'])
def test_a_broken_plug_in_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "broken_plugin.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("broken", "broken_plugin", registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
    with pytest.raises(InputError, match=r"^plug-in broken \(broken_plugin\) can't be loaded: "):
        registry.load()


def test_everything_of_our_own_is_found() -> None:
    modules = {path.stem for path in Path(registry.__file__).parent.glob("checks/*/[a-z][a-z][a-z][0-9]*.py")}
    assert {id.lower() for id in registry.load().checks} >= {name.partition("_")[0] for name in modules}


def test_what_one_page_needs_is_loaded_alone_and_is_the_same_page() -> None:
    """In a child: here all is loaded already."""
    ask = "from gonogo import pages, registry; print([p for p in pages.pages(registry.load{}) if p.id == {!r}])"
    for id in ("NET001", "network.port_blocked", "pod.oom_killed"):
        alone, among_all = (
            subprocess.run([sys.executable, "-c", ask.format(how, id)], capture_output=True, text=True, check=True)
            for how in (f"_of({id!r})", "()")
        )
        assert alone.stdout == among_all.stdout != "[]\n"
