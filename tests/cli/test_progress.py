"""What is shown while a run goes on."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gonogo.cli.progress import _View, watch
from gonogo.cli.screen import Screen
from gonogo.documents.records import LinksLog, NodeLog, PortsLog
from gonogo.kernel import CheckDone, Diagnosed, FactCame, Lost, Progress
from gonogo.model import Certainty, Diagnosis, Finding, RunInfo, Status, TargetInfo, link, node
from gonogo.verify import Started, Told

STARTED = Started(
    RunInfo("k7f3", "0", "quick", 0, 0, 74.0), TargetInfo("local", "this machine", "this machine, 2 nodes"),
    ("node", "ports", "links"),
)  # fmt: skip
BLOCKED = Diagnosis("network.port_blocked", Certainty.ESTABLISHED, "Port 29500 is dropped.", (node("node1"),), ())
SILENT = Finding(Status.FAIL, link("node0", "node1"), "node0 does not reach node1 on port 29500.", check="NET001")


def drawn(*events: Told, unicode: bool = True, width: int = 100) -> str:
    view = _View(Screen(width, False, unicode, True))
    for event in events:
        view.take(event)
    out = io.StringIO()
    Console(file=out, width=width, no_color=True, highlight=False).print(view)
    return out.getvalue()


def test_steps_are_over_under_way_or_to_come() -> None:
    text = drawn(STARTED, FactCame(NodeLog, NodeLog((), (), {})), Progress("ports", 1, 2))
    assert "this machine, 2 nodes · quick · at most 74 s · run k7f3" in text
    lines = {line.split()[1] if not line.startswith(" ") else line.split()[0]: line for line in text.splitlines()[2:5]}
    assert lines["node"].startswith("✓")
    assert "1 of 2 nodes" in lines["ports"]
    assert lines["links"].split() == ["links"]


def test_a_lost_step_is_never_ticked() -> None:
    text = drawn(STARTED, FactCame(NodeLog, Lost("gone")))
    assert "✓" not in text
    assert "lost" in text


def test_a_blocked_port_is_named_while_links_still_run() -> None:
    text = drawn(
        STARTED,
        FactCame(PortsLog, PortsLog((), (), {})),
        CheckDone("NET001", (SILENT,), (), 0.0),
        Diagnosed((BLOCKED,)),
    )
    assert "NET001  link/node0->node1  node0 does not reach node1 on port 29500." in text
    assert "network.port_blocked  Port 29500 is dropped." in text


def test_many_findings_are_counted_and_long_ones_cut() -> None:
    text = drawn(STARTED, CheckDone("NET001", (SILENT,) * 30, (), 0.0), width=40)
    assert "and 24 more findings like these" in text
    assert all(len(line) <= 40 for line in text.splitlines())


def test_nothing_is_drawn_before_the_bound_is_known() -> None:
    assert drawn().strip() == ""
    assert "at most" in drawn(STARTED)


def test_ascii_where_that_is_all_there_is() -> None:
    assert drawn(STARTED, FactCame(NodeLog, NodeLog((), (), {})), unicode=False).isascii()


def test_a_pipe_gets_the_start_and_each_cause_once() -> None:
    out = io.StringIO()
    with watch(out) as tell:
        for event in (
            STARTED,
            Progress("ports"),
            FactCame(LinksLog, Lost("x")),
            Diagnosed((BLOCKED,)),
            Diagnosed((BLOCKED,)),
        ):
            tell(event)
    lines = out.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("network.port_blocked: Port 29500 is dropped.")


@pytest.mark.parametrize(
    ("environment", "color"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colour_as_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], color: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Screen.of(io.StringIO()).color is color
    monkeypatch.setenv("COLUMNS", "72")
    assert Screen.of(io.StringIO()).width == 72


@pytest.mark.parametrize("terminal", [False, True])
def test_nothing_depends_on_who_watches(terminal: bool) -> None:
    """As in `verify 2>&1 | true`, with stderr on a full disk, or where the terminal was closed."""

    class Gone(io.StringIO):
        def isatty(self) -> bool:
            return terminal

        def write(self, text: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None:
            raise BrokenPipeError

    with watch(Gone()) as tell:
        for event in (STARTED, Diagnosed((BLOCKED,))):
            tell(event)
