"""The report as Markdown that fits a comment on a pull request: verdict, root causes with commands, what is proven.

Whatever a cluster, a log or a user wrote is shown as code, or with all its markup taken out of force: no line of a log
makes a heading, a link, an image, HTML, a mention of somebody or a reference to an issue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from gonogo.model import Claim, Diagnosis, Evidence, Finding, Report, Verdict
from gonogo.report.commands import folded
from gonogo.report.figures import headlines
from gonogo.report.text import clean, count, duration, keys
from gonogo.report.verdict import BAD, cut, everyone, explained, next_step, of_diagnose, reason, spelled

MOST_BYTES = 60_000
"""Comments may have 65 536 characters; whoever posts one may want to add a line."""
_SHARES = (12, 6, 3, 1)
"""How many items of a kind are shown: as many as fit."""
_MOST_TEXT = 400
_MOST_EVIDENCE = 200
_MOST_COMMAND = 2_000
"""In characters. A longer command is left out: half of one would do something else."""
_MARKUP = re.compile(r"([\\`*_\[\]|~$])")
_LEAD = re.compile(r"^([-+=]|\d{1,9}(?=[.)]))")
_APART = "&#8203;"  # a space without width: keeps GitHub from making a mention of what follows
_WEB = re.compile(r"://|\bwww\.", re.IGNORECASE)


def render(report: Report) -> str:
    """CommonMark with GitHub's `<details>`, of MOST_BYTES at most."""
    for most in _SHARES:
        text = "\n".join(_lines(report, most)).strip() + "\n"
        if len(text.encode()) <= MOST_BYTES:
            return text
    return text.encode()[:MOST_BYTES].decode(errors="ignore")  # not reached: texts and items are bounded


def _lines(report: Report, most: int) -> Iterator[str]:
    run, verb = report.run, "diagnose" if of_diagnose(report) else "verify"
    where = [plain(report.target.summary)] if verb == "verify" else [plain(report.target.name, report.target.summary)]
    if verb == "verify":
        name = report.plan.get("name")
        where += [*([f"plan {plain(str(name))}"] if name else []), run.level]
        where += [f"run {plain(run.id)}"] if run.id else []
    yield f"## gonogo {verb}: {spelled(report)}"
    yield ""
    yield f"**{plain(reason(report))}**"
    yield ""
    yield " · ".join([*where, *([duration(run.ended - run.started)] if run.started else [])])
    if (ended := cut(run)) and report.verdict is not Verdict.UNDECIDED:
        yield f"\n{plain(ended.capitalize())}: this is what was known by then."
    for number, diagnosis in enumerate(report.diagnoses[:most], 1):
        yield from _diagnosis(number, diagnosis, most)
    yield from _more(len(report.diagnoses) - most, "root cause")
    if verb == "verify":
        yield from _unexplained(report, most)
        yield from _measured(report, most)
    yield from _coverage(report, most)
    if step := next_step(report):
        first, then, what = step.rpartition(": ")
        yield from ("", f"Next: {plain(first)}{then}{code(what)}")


def _diagnosis(number: int, d: Diagnosis, most: int) -> Iterator[str]:
    yield from ("", f"### {number}. {code(d.cause)} ({d.certainty})", "", plain(d.summary), "")
    proofs = list(dict.fromkeys(map(_proof, d.evidence)))
    yield from (f"- {proof}" for proof in proofs[:most])
    yield from _more(len(proofs) - most, "more piece of evidence", "more pieces of evidence")
    yield from (f"- but: {proof}" for proof in list(dict.fromkeys(map(_proof, d.contradicts)))[:most])
    if d.explains:
        yield f"- explains {plain(keys(d.explains))}"
    yield from (f"- leads to {code(c.cause)}: {plain(c.summary)}" for c in list(everyone(d.consequences))[:most])
    if d.next_observation:
        yield f"- to be sure: {plain(d.next_observation)}"
    yield from _fenced(folded(d.commands), most)


def _proof(evidence: Evidence) -> str:
    place = f"{evidence.file}:{evidence.line}" if evidence.line else evidence.file
    return f"{code(evidence.text, _MOST_EVIDENCE)}{f' in {code(place, _MOST_EVIDENCE)}' if place else ''}"


def _fenced(commands: Sequence[str], most: int) -> Iterator[str]:
    """One block to copy from, fenced by more backticks than any command has."""
    lines = [clean(c) for c in commands[:most]]
    whole = [line for line in lines if len(line) <= _MOST_COMMAND]
    fence = "`" * max(3, 1 + max((len(run) for line in whole for run in re.findall("`+", line)), default=0))
    if whole:
        yield from ("", f"{fence}sh", *whole, fence)
    yield from _more(len(commands) - len(whole), "command", why=" in the report as JSON")


def _unexplained(report: Report, most: int) -> Iterator[str]:
    """What isn't well and no root cause accounts for, one item a check."""
    told = explained(report.diagnoses)
    left = [f for f in report.findings if f.status in BAD and f.key not in told]
    left.sort(key=lambda f: (BAD.index(f.status), f.check))
    checks = [list(group) for _, group in groupby(left, key=lambda f: (f.status, f.check))]
    if checks:
        yield from ("", "### Not explained by a root cause" if report.diagnoses else "### Findings", "")
    yield from (_finding(alike) for alike in checks[:most])
    yield from _more(len(checks) - most, "check")


def _finding(alike: Sequence[Finding]) -> str:
    first = alike[0]
    about = "" if first.subject.kind == "cluster" else f"{code(str(first.subject))}: "
    more = f" And {len(alike) - 1} more like it." if len(alike) > 1 else ""
    return f"- **{first.status}** {code(first.check)} {about}{plain(first.message)}{more}"


def _measured(report: Report, most: int) -> Iterator[str]:
    if lines := headlines(report.figures):
        yield from ("", "### Measured", "", *(f"- {plain(line)}" for line in lines[:most]))


def _coverage(report: Report, most: int) -> Iterator[str]:
    proven, open_claims = report.coverage.proven, report.coverage.not_proven
    if of_diagnose(report):
        moves = proven[1:] if report.verdict is not Verdict.NOTHING_FOUND else ()
        yield from _folded(f"Timeline: {count(len(moves), 'first move')}", moves, most)
        yield from _folded(f"Left: {count(len(open_claims), 'item')}", open_claims, most)
        return
    yield from ("", f"**Proven:** {' · '.join(plain(c.text) for c in proven[: 2 * most]) or 'nothing'}")
    yield from _folded(f"Not proven: {count(len(open_claims), 'item')}", open_claims, 2 * most)


def _folded(title: str, claims: Sequence[Claim], most: int) -> Iterator[str]:
    """A list that a reader opens."""
    if not claims:
        return
    yield from ("", f"<details><summary>{title}</summary>", "")
    yield from (f"- {_claim(c)}" for c in claims[:most])
    yield from _more(len(claims) - most, "item")
    yield from ("", "</details>")


def _claim(claim: Claim) -> str:
    checks = f" ({plain(', '.join(claim.checks[:6]))})" if 0 < len(claim.checks) <= 6 else ""
    return f"{plain(claim.text)}{checks}{f': {plain(claim.reason)}' if claim.reason else ''}"


def _more(number: int, one: str, many: str = "", why: str = "") -> Iterator[str]:
    if number > 0:
        yield from ("", f"And {count(number, one, many)}{why}.")


def plain(*texts: str) -> str:
    """Foreign text in one line, with no markup of its own; an address of the web is code, whole and fit to copy."""
    parts = re.split(r"(\s+)", _cut(clean(", ".join(texts)).strip(), _MOST_TEXT))
    text = "".join(_address(part) if _WEB.search(part) else _escaped(part) for part in parts)
    text = re.sub(r"^#", r"\\#", text)
    return _LEAD.sub(lambda m: rf"\{m[0]}" if not m[0].isdigit() else f"{m[0]}{_APART}", text)


def _address(word: str) -> str:
    """GitHub makes no link of code."""
    address, end = re.fullmatch(r"(.*?)([.,;:]*)", word, re.DOTALL).groups()  # type: ignore[union-attr]
    return f"{code(address)}{_escaped(end)}"


def _escaped(text: str) -> str:
    text = _MARKUP.sub(r"\\\1", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"@|#(?=\w)|(?<=GH-)(?=\d)", lambda m: m[0] + _APART, text)


def code(text: str, most: int = _MOST_TEXT) -> str:
    """Foreign text in one line as code, whatever backticks it has."""
    text = _cut(clean(text).strip(), most)
    if not text:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()}…"
