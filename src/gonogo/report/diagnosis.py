"""The report of `diagnose` for people: the verdict, root causes with the lines that prove them, and what follows."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from gonogo.model import Claim, Diagnosis, Evidence, Report, Verdict
from gonogo.report.commands import folded
from gonogo.report.text import clean, count, duration, glued, keys, unglued
from gonogo.report.verdict import everyone, reason

_STYLE = {Verdict.FAULT: "1;31", Verdict.DIAGNOSE_UNDECIDED: "1;35", Verdict.NOTHING_FOUND: "1;32"}
_LABEL = 12
_MOST_EVIDENCE = 6
_MOST_TEXT = 200  # of one line of evidence, in characters
_MOST_CLAIMS = 12


def render(report: Report, width: int = 100, color: bool = False, unicode: bool = True, wide: bool = False) -> str:
    """Text for a terminal; `wide` shows all evidence and whole lines."""
    page = _Page(max(width, 40), color, unicode, wide)
    return "".join(f"{unglued(line).rstrip()}\n" for line in page.lines(report))


class _Page:
    def __init__(self, width: int, color: bool, unicode: bool, wide: bool) -> None:
        self._width, self._color, self._unicode, self._wide = width, color, unicode, wide

    def lines(self, report: Report) -> Iterator[str]:
        """All lines of the page."""
        took = duration(report.run.ended - report.run.started)
        yield self._clean(f"gonogo diagnose · {report.target.name} · {report.target.summary} · {took}")
        yield ""
        yield f"{self._style(str(report.verdict), _STYLE.get(report.verdict, '1'))}   {self._clean(reason(report))}"
        if report.run.interrupted:
            yield "interrupted: this is what was known by then"
        yield ""
        for number, diagnosis in enumerate(report.diagnoses, 1):
            yield from self._diagnosis(number, diagnosis, report)
            yield ""
        yield from self._claims(report)

    def _diagnosis(self, number: int, d: Diagnosis, report: Report) -> Iterator[str]:
        head = f"{number}  {d.cause}"
        yield f"{self._style(head, '1')}{' ' * max(2, self._width - len(head) - len(d.certainty))}{d.certainty}"
        yield from self._wrapped("   ", d.summary)
        shown = d.evidence if self._wide else d.evidence[:_MOST_EVIDENCE]
        yield from self._rows("evidence", [self._proof(e) for e in shown])
        if len(shown) < len(d.evidence):
            yield f"{' ' * (3 + _LABEL)}and {count(len(d.evidence) - len(shown), 'more line')} (-o wide)"
        yield from self._rows("explains", [keys(d.explains)] if d.explains else [])
        yield from self._rows("follows", [f"{c.cause}: {c.summary}" for c in everyone(d.consequences)])
        yield from (f"   {'run':<{_LABEL}}{self._clean(c)}" for c in folded(d.commands, self._wide))
        yield from self._rows("settles it", [d.next_observation] if d.next_observation else [])
        yield from self._rows("page", [f"gonogo explain {d.cause}"])

    def _claims(self, report: Report) -> Iterator[str]:
        moves = [c.text for c in report.coverage.proven[1:]]
        yield from self._rows("timeline", moves if report.verdict is not Verdict.NOTHING_FOUND else [], 0)
        yield from self._rows("read", [report.coverage.proven[0].text] if report.coverage.proven else [], 0)
        left = report.coverage.not_proven if self._wide else report.coverage.not_proven[:_MOST_CLAIMS]
        yield from self._rows("left", [claim(c) for c in left], 0)

    def _rows(self, label: str, texts: Iterable[str], indent: int = 3) -> Iterator[str]:
        for i, text in enumerate(texts):
            lead = f"{' ' * indent}{label if i == 0 else '':<{_LABEL}}"
            yield from self._wrapped(lead, text)

    def _wrapped(self, lead: str, text: str) -> Iterator[str]:
        width = max(self._width - len(lead), 20)
        pieces = textwrap.wrap(glued(self._clean(text)), width, break_on_hyphens=False) or [""]
        yield lead + pieces[0]
        yield from (" " * len(lead) + piece for piece in pieces[1:])

    def _proof(self, evidence: Evidence) -> str:
        text = evidence.text if self._wide or len(evidence.text) <= _MOST_TEXT else evidence.text[:_MOST_TEXT] + "…"
        place = f"{evidence.file}:{evidence.line}: " if evidence.file else ""
        return f"{place}{text}"

    def _clean(self, text: str) -> str:
        return clean(text, unicode=self._unicode)

    def _style(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{self._clean(text)}\x1b[0m" if self._color else self._clean(text)


def claim(c: Claim) -> str:
    """What isn't proven, and why."""
    return f"{c.text}: {c.reason}" if c.reason else c.text
