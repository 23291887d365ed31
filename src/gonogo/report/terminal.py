"""The report for people: the verdict, then root causes with their evidence and commands, then what is proven."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gonogo.model import Certainty, Claim, Diagnosis, Evidence, Finding, Report, Status, Verdict
from gonogo.report.commands import folded
from gonogo.report.figures import headlines
from gonogo.report.text import clean, duration, glued, keys, unglued
from gonogo.report.verdict import BAD, cut, explained, next_step, reason, spelled

_STYLE = {
    Status.OK: "green",
    Status.SKIP: "dim",
    Status.WARN: "yellow",
    Status.UNKNOWN: "magenta",
    Status.FAIL: "red",
}
_VERDICT_STYLE = {Verdict.GO: "bold green", Verdict.NO_GO: "bold red", Verdict.UNDECIDED: "bold magenta"}
_MARK = {Status.OK: "✓", Status.SKIP: "-", Status.WARN: "!", Status.UNKNOWN: "?", Status.FAIL: "✗"}
_MOST_EVIDENCE = 5
_MOST_COMMANDS = 6
_MOST_TEXT = 160  # of one piece of evidence, in characters
_MOST_CHECKS = 3
_MOST_SKIPS = 4  # claims on what doesn't apply, or wasn't to be looked at
_MOST_FIGURES = 3  # of one check
_LABEL = 12


def render(report: Report, *, width: int = 100, color: bool = False, unicode: bool = True, wide: bool = False) -> str:
    """The whole report; `wide` adds every finding and all evidence."""
    return _Page(report, width, color, unicode, wide).text()


def heading(report_run: str, parts: Iterable[str]) -> str:
    """The first line: what, where, how, and the run."""
    return " · ".join(("gonogo verify", *parts, *([f"run {report_run}"] if report_run else [])))


@dataclass
class _Page:
    report: Report
    width: int
    color: bool
    unicode: bool
    wide: bool

    def text(self) -> str:
        self._out = io.StringIO()
        self._console = Console(
            file=self._out, width=max(self.width, 40), force_terminal=self.color, no_color=not self.color,
            color_system="standard" if self.color else None, highlight=False, emoji=False, markup=False,
        )  # fmt: skip
        self._head()
        self._verdict()
        for number, diagnosis in enumerate(self.report.diagnoses, 1):
            self._diagnosis(number, diagnosis)
        self._unexplained()
        if self.wide:
            self._findings()
        self._measured()
        self._coverage()
        self._next()
        return "".join(f"{unglued(line).rstrip()}\n" for line in self._out.getvalue().splitlines())

    def _clean(self, text: str) -> str:
        return glued(clean(text, unicode=self.unicode))

    def _line(self, *parts: tuple[str, str], whole: bool = False) -> None:
        """One line of styled parts; `whole`: never wrapped, since somebody will copy it."""
        self._console.print(Text.assemble(*((self._clean(t), s) for t, s in parts)), soft_wrap=whole)

    def _rows(self, indent: int, rows: Iterable[tuple[str, Text | str, str]]) -> None:
        """Label and text, each row with its label's style; long text hangs below itself."""
        grid = Table.grid(padding=(0, 0))
        grid.add_column(width=indent + _LABEL, no_wrap=True)
        grid.add_column(ratio=1, overflow="fold")
        for label, text, style in rows:
            body = Text(self._clean(text)) if isinstance(text, str) else text
            grid.add_row(Text(self._clean(" " * indent + label), style), body)
        if grid.row_count:
            self._console.print(grid)

    def _head(self) -> None:
        run, target = self.report.run, self.report.target
        name = self.report.plan.get("name")
        parts = [target.summary, *([f"plan {name}"] if name else []), run.level]
        took = f" · {duration(run.ended - run.started)}" if run.started else ""  # documents of no run of gonogo's
        self._line((heading(run.id, parts), "bold"), (took, "dim"))
        self._console.print()

    def _verdict(self) -> None:
        report = self.report
        self._line((spelled(report), _VERDICT_STYLE.get(report.verdict, "bold")), (f"   {reason(report)}", ""))
        if (ended := cut(report.run)) and report.verdict is not Verdict.UNDECIDED:
            self._line((f"{ended}: this is what was known by then", "yellow"))
        self._console.print()

    def _diagnosis(self, number: int, diagnosis: Diagnosis) -> None:
        label, certainty = f"{number}  ", str(diagnosis.certainty)
        gap = max(2, self._console.width - len(label) - len(diagnosis.cause) - len(certainty))
        sure = "green" if diagnosis.certainty is Certainty.ESTABLISHED else "yellow"
        self._line((label, "bold"), (diagnosis.cause, "bold"), (" " * gap, ""), (certainty, sure))
        summary = Table.grid(padding=(0, 0))
        summary.add_column(width=3)
        summary.add_column(ratio=1, overflow="fold")
        summary.add_row("", Text(self._clean(diagnosis.summary)))
        self._console.print(summary)
        rows = [*self._evidence("evidence", diagnosis.evidence), *self._evidence("but", diagnosis.contradicts)]
        if diagnosis.explains:
            rows.append(("explains", keys(diagnosis.explains), "cyan"))
        rows += [("leads to", f"{c.cause}: {c.summary}", "cyan") for c in diagnosis.consequences]
        if diagnosis.next_observation and diagnosis.certainty is not Certainty.ESTABLISHED:
            rows.append(("to be sure", diagnosis.next_observation, "cyan"))
        self._rows(3, rows)
        commands = folded(diagnosis.commands, self.wide)
        most = len(commands) if self.wide else _MOST_COMMANDS
        for n, command in enumerate(commands[:most]):
            label = "run" if n == 0 else ""
            self._line((f"   {label:<{_LABEL}}", "cyan"), (command, "bold"), whole=True)
        if len(commands) > most:
            self._rows(3, [("", Text(f"and {len(commands) - most} more: -o wide", "dim"), "")])
        self._console.print()

    def _evidence(self, label: str, evidence: Sequence[Evidence]) -> list[tuple[str, Text | str, str]]:
        most = len(evidence) if self.wide else _MOST_EVIDENCE
        rows: list[tuple[str, Text | str, str]] = []
        for n, item in enumerate(evidence[:most]):
            whole = self.wide or len(item.text) <= _MOST_TEXT
            text = Text(self._clean(item.text if whole else f"{item.text[:_MOST_TEXT].rstrip()}…"))
            if item.file:
                place = f"{item.file}:{item.line}" if item.line else item.file
                text.append(self._clean(f"  {place}"), "dim")
            rows.append((label if n == 0 else "", text, "cyan"))
        if len(evidence) > most:
            rows.append(("", Text(f"and {len(evidence) - most} more", "dim"), ""))
        return rows

    def _unexplained(self) -> None:
        """What isn't well and no root cause accounts for, one row a check; each by itself where all are wanted."""
        told = explained(self.report.diagnoses)
        left = [f for f in self.report.findings if f.status in BAD and f.key not in told]
        if not left:
            return
        self._line(("not explained by a root cause" if self.report.diagnoses else "findings", "bold"))
        left.sort(key=lambda f: (BAD.index(f.status), f.check))
        if self.wide:
            self._each(left)
            return
        alike: dict[tuple[Status, str, str], list[Finding]] = {}  # one row a check; checks that say the same share one
        for (status, check), group in groupby(left, key=lambda f: (f.status, f.check)):
            found = list(group)
            one = {f.message for f in found}
            alike.setdefault((status, "" if len(one) == 1 else check, found[0].message), []).extend(found)
        self._rows(0, [self._row(status, found) for (status, _, _), found in alike.items()])
        self._console.print()

    def _row(self, status: Status, found: Sequence[Finding]) -> tuple[str, Text | str, str]:
        text = self._finding_text(found[0])
        checks = list(dict.fromkeys(f.check for f in found))
        if len(checks) > 1:
            text.append(self._clean(f"  also {', '.join(checks[1:])}"), "dim")
        elif len(found) > 1:
            text.append(self._clean(f"  and {len(found) - 1} more like it"), "dim")
        return f"{_MARK[status]} {checks[0]}", text, _STYLE[status]

    def _finding_text(self, finding: Finding) -> Text:
        text = Text()
        if finding.subject.kind != "cluster":
            text.append(self._clean(f"{finding.subject}  ".replace("->", " → ")), "cyan")
        return text.append(self._clean(finding.message))

    def _findings(self) -> None:
        """All that the rows before these don't name."""
        told = explained(self.report.diagnoses)
        rest = [f for f in self.report.findings if f.status not in BAD or f.key in told]
        if rest:
            self._line(("all findings" if len(rest) == len(self.report.findings) else "all other findings", "bold"))
            self._each(rest)

    def _each(self, findings: Iterable[Finding]) -> None:
        self._rows(0, [(f"{_MARK[f.status]} {f.check}", self._finding_text(f), _STYLE[f.status]) for f in findings])
        self._console.print()

    def _measured(self) -> None:
        lines = headlines(self.report.figures, _MOST_FIGURES if not self.wide else len(self.report.figures))
        self._rows(0, [("measured" if n == 0 else "", line, "cyan") for n, line in enumerate(lines)])

    def _coverage(self) -> None:
        coverage = self.report.coverage
        proven = " · ".join(claim.text for claim in coverage.proven) or "nothing"
        self._rows(0, [("proven", proven, "green")])
        hidden = {key.check for key in explained(self.report.diagnoses)}
        behind = [c for claim in coverage.not_proven for c in claim.checks if hidden.issuperset(claim.checks)]
        left = [c for c in coverage.not_proven if not c.checks or not hidden.issuperset(c.checks)]
        shown, folded = self._fold(left)
        claims = [self._claim(c) for c in shown]
        if folded:
            checks = sorted(check for claim in folded for check in claim.checks)
            claims.append(
                Text(
                    self._clean(f"{len(checks)} more, skipped for reasons that -o wide gives: {', '.join(checks)}"),
                    "dim",
                )
            )
        if behind:
            one = "the root cause" if len(self.report.diagnoses) == 1 else "the root causes"
            claims.insert(0, Text(self._clean(f"what waits for {one}: {', '.join(sorted(behind))}")))
        self._rows(0, [("not proven" if n == 0 else "", claim, "yellow") for n, claim in enumerate(claims)])

    def _fold(self, claims: Sequence[Claim]) -> tuple[list[Claim], list[Claim]]:
        """What is shown one by one, and of mere skips what is only counted: all of them are in the wide report."""
        unsettled = {f.check for f in self.report.findings if f.status is not Status.SKIP}
        told = {f.check for f in self.report.findings}
        skips = [c for c in claims if c.checks and told.issuperset(c.checks) and unsettled.isdisjoint(c.checks)]
        if self.wide or len(skips) <= _MOST_SKIPS:
            return list(claims), []
        folded = [c for c in skips if len(c.checks) == 1]
        return [c for c in claims if c not in folded], folded

    def _claim(self, claim: Claim) -> Text:
        """What is open, and why unless a finding above says so already."""
        told = {f.check for f in self.report.findings if f.status in BAD}
        is_told = 0 < len(claim.checks) <= _MOST_CHECKS * 4 and told.issuperset(claim.checks)
        reason = "" if is_told else claim.reason
        named = 0 < len(claim.checks) <= (_MOST_CHECKS if reason else _MOST_CHECKS * 4)
        text = Text(self._clean(f"{claim.text} ({', '.join(claim.checks)})" if named else claim.text))
        return text.append(self._clean(f": {reason}" if reason else ""), "dim")

    def _next(self) -> None:
        if text := next_step(self.report):
            self._line((f"{'next':<{_LABEL}}", "cyan"), (text, ""), whole=True)
