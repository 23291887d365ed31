"""What a person sees on stderr while a run goes on; on a pipe only the start and root causes, a line each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from gonogo.cli.screen import Screen, unheard
from gonogo.documents.records import LOGS
from gonogo.kernel import CheckDone, Diagnosed, FactCame, Lost, Progress
from gonogo.model import Finding, Status
from gonogo.report.terminal import heading
from gonogo.report.text import clean, count, duration
from gonogo.verify import Started, Told

_NAMES = {kind: step for step, kind in LOGS.items()}
_MOST_FINDINGS = 6


@contextmanager
def watch(stream: TextIO) -> Iterator[Callable[[Told], None]]:
    """Show a run on a stream; what is given back takes the run's events."""
    screen = Screen.of(stream)
    stream = unheard(stream)
    view = _View(screen)
    if not screen.terminal:

        def tell(event: Told) -> None:
            for line in view.take(event):
                print(clean(line, unicode=screen.unicode), file=stream, flush=True)

        yield tell
        return
    console = Console(file=stream, no_color=not screen.color, highlight=False, emoji=False, markup=False)
    with Live(
        view, console=console, refresh_per_second=8, transient=True, redirect_stdout=False, redirect_stderr=False
    ):

        def show(event: Told) -> None:
            view.take(event)

        yield show


@dataclass
class _View:
    """What has happened so far; drawn again and again by a terminal."""

    screen: Screen
    began: float = field(default_factory=time.monotonic)
    head: str = ""
    bound_seconds: float = 0.0
    steps: tuple[str, ...] = ()
    over: dict[str, tuple[bool, float]] = field(default_factory=dict)  # step -> whether it came, and when
    at: Progress | None = None
    bad: list[Finding] = field(default_factory=list)
    causes: dict[str, str] = field(default_factory=dict)

    def take(self, event: Told) -> list[str]:
        """Take an event, and give the lines that are worth saying on a pipe."""
        match event:
            case Started():
                run, target = event.run, event.target
                self.bound_seconds, self.steps = run.bound_seconds, event.steps
                most = f"at most {duration(run.bound_seconds)}"
                cost = f", ${run.bound_dollars:.2f} by list price" if run.bound_dollars else ""
                self.head = heading(run.id, [target.summary, run.level, most + cost])
                return [self.head]
            case FactCame(fact, value) if fact in _NAMES:
                self.over[_NAMES[fact]] = not isinstance(value, Lost), time.monotonic()
            case Progress():
                self.at = event
            case CheckDone():
                self.bad += [f for f in event.findings if f.status in (Status.FAIL, Status.UNKNOWN)]
            case Diagnosed():
                new = {d.cause: d.summary for d in event.diagnoses}
                lines = [f"after {self._elapsed()}: {c}: {s}" for c, s in new.items() if c not in self.causes]
                self.causes = new
                return lines
            case _:
                pass
        return []

    def _elapsed(self) -> str:
        return duration(time.monotonic() - self.began)

    def _clean(self, text: str) -> str:
        return clean(text, unicode=self.screen.unicode)

    def __rich__(self) -> Group:
        if not self.head:  # the run has not begun: no bound is known yet
            return Group()
        rows = Table.grid(padding=(0, 1))
        before = self.began
        for step in self.steps:
            rows.add_row(*self._step(step, before))
            before = self.over.get(step, (True, before))[1]
        parts: list[Text | Table] = [Text(self._clean(self.head), "bold"), Text(), rows, Text()]
        for finding in self.bad[:_MOST_FINDINGS]:
            style = "red" if finding.status is Status.FAIL else "magenta"
            text = self._clean(f"{finding.check}  {finding.subject}  {finding.message}")
            parts.append(Text(text, style, no_wrap=True, overflow="ellipsis"))
        if len(self.bad) > _MOST_FINDINGS:
            parts.append(Text(f"and {count(len(self.bad) - _MOST_FINDINGS, 'more finding')} like these", "dim"))
        for cause, summary in self.causes.items():
            parts.append(Text.assemble((self._clean(cause), "bold red"), "  ", self._clean(summary)))
        parts.append(Text(f"{self._elapsed()} of at most {duration(self.bound_seconds)}; Ctrl-C ends it", "dim"))
        return Group(*parts)

    def _step(self, step: str, before: float) -> tuple[Text | Spinner, Text, Text]:
        now = time.monotonic()
        if step in self.over:
            came, when = self.over[step]
            mark = Text("✓" if self.screen.unicode else "+", "green") if came else Text("?", "magenta")
            return mark, Text(step), Text(duration(when - before) if came else "lost", "dim")
        following = next((s for s in self.steps if s not in self.over), "")
        if step != following:
            return Text(" "), Text(step, "dim"), Text("")
        spinner = Spinner("dots" if self.screen.unicode else "line", style="cyan")
        through = f"  {self.at.done:g} of {self.at.total:g} nodes" if self.at and self.at.total else ""
        at = f" ({self.at.text})" if self.at and self.at.text not in ("", step) else ""
        return spinner, Text(step, "cyan"), Text(f"{duration(now - before)}{through}{at}", "dim")
