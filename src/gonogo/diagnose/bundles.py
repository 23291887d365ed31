"""A bundle among what was read: what its run.json says, and what its agents' records say when judged again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from gonogo.documents.bundle import REPORT, RUN, TRACEBACKS
from gonogo.model import Certainty, Report, Status, Verdict
from gonogo.report.verdict import everyone

PACKED = (".tar.gz", ".tgz", ".tar", ".zip", ".tar.bz2", ".tar.xz", ".tar.zst", ".tzst")


@dataclass(frozen=True, slots=True)
class Kept:
    """What a bundle's run.json says of how it was collected: of what, and what could not be had and why."""

    file: str
    target: str  # job/train; "" where it is not of a cluster's job
    summary: str
    lost: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, file: str, text: str) -> Kept | None:
        """None for a file that only has that name."""
        try:
            run = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(run, dict) or run.get("kind") != "Run":
            return None
        target, about, lost = (_mapping(run.get(key)) for key in ("target", "run", "lost"))
        cut_off = ["Collecting was interrupted: more may be there."] if about.get("interrupted") is True else []
        reasons = (_mapping(entry).get("reason") for entry in lost.values() if _mapping(entry).get("status") != "skip")
        notes = run.get("notes")
        return cls(
            file,
            str(run.get("job") or ""),
            str(target.get("summary", "")),
            tuple(dict.fromkeys([*cut_off, *(str(r) for r in reasons if r)])),
            tuple(map(str, notes)) if isinstance(notes, list) else (),
        )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def is_of_a_run(name: str, place: str | None) -> bool:
    """Whether a file is the product's own: its records are judged by its checks, and not by their words."""
    own = name.removeprefix(place or "")
    return own.startswith("agents/") or own in (RUN, REPORT, TRACEBACKS)


def place_of_run(names: Sequence[str]) -> str | None:
    """What stands before the names of the one bundle with agents' records, be it in a folder or packed."""
    places = [n.removesuffix(RUN) for n in names if PurePosixPath(n).name == RUN]
    whole = [p for p in dict.fromkeys(places) if any(n.startswith(f"{p}agents/") for n in names)]
    return whole[0] if len(whole) == 1 else None


def judged_again(path: Path | None, place: str | None) -> Report | None:
    """What the agents' records in a bundle say; None where what was read holds none."""
    if path is None or place is None:
        return None
    from gonogo.rejudge import rejudge  # checks and plans take a while to load, and only bundles need them

    if not place or path.is_file():
        return rejudge(path)
    if (path / place).is_dir():
        return rejudge(path / place)
    packed = (p for p in sorted(path.iterdir()) if p.is_file() and not p.is_symlink() and p.name.endswith(PACKED))
    return next((report for p in packed if (report := rejudge(p))), None)


def joined(report: Report, agents: Report) -> Report:
    """One report: root causes by agents first, since they are measured; then those by logs alone."""
    named = {d.cause for d in everyone(agents.diagnoses)}
    mine = tuple(d for d in report.diagnoses if d.cause not in named)
    bad = tuple(f for f in agents.findings if f.status in (Status.FAIL, Status.UNKNOWN))
    verdict = report.verdict
    if any(d.certainty is not Certainty.HYPOTHESIS for d in (*agents.diagnoses, *mine)):
        verdict = Verdict.FAULT
    elif bad:
        verdict = Verdict.DIAGNOSE_UNDECIDED
    return replace(
        report,
        verdict=verdict,
        diagnoses=(*agents.diagnoses, *mine),
        findings=(*bad, *report.findings),
        figures=agents.figures,
        titles={**agents.titles, **report.titles},
    )
