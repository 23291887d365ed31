"""Every case is diagnosed: the right first cause, with a line that proves it; healthy ones yield nothing."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gonogo import registry
from gonogo.diagnose import diagnose
from gonogo.model import Report, Verdict

ROOT = Path(__file__).parents[2]
PUBLIC = ROOT.parent / "shared" / "cases"
OWN = ROOT / "tests" / "cases"
KNOWN_MISSES = {
    "restart-hides-first-error-previous-log": "the previous log is there, so its own error is named instead",
    "acs-on-plx-switches-halves-roce": "what perftest and nccl-tests measured is not compared with what the NICs can",
    "h-ray-head-joins-nobody": "Ray's words on a head that no worker joins are not read",
}


def answers(folder: Path) -> list[dict[str, Any]]:
    path = folder / "answers.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else []


@cache
def diagnosed(folder: Path) -> Report:
    return diagnose(folder, registry=registry.load_causes_of("gonogo.facts.events"))


def first_cause(report: Report) -> str:
    if report.verdict is Verdict.NOTHING_FOUND:
        return "none"
    return report.diagnoses[0].cause if report.verdict is Verdict.FAULT else "undecided"


def line(path: Path, number: int) -> str:
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")
    return text.split("\n")[number - 1]


def cited(report: Report, folder: Path, wanted: list[dict[str, str]]) -> int:
    """How many of the answer's lines the first diagnosis cites."""
    shown = [(e.file, e.line) for e in report.diagnoses[0].evidence if e.line]
    return sum(any(f == w["file"] and w["contains"] in line(folder / f, n) for f, n in shown) for w in wanted)


@pytest.mark.parametrize("answer", answers(PUBLIC) or [None], ids=lambda a: a["folder"] if a else "none")
def test_public_case(answer: dict[str, Any] | None, need: Any) -> None:
    if answer is None:
        need(f"no cases in {PUBLIC.relative_to(ROOT.parent)}")
        return
    report = diagnosed(PUBLIC / answer["folder"])
    assert first_cause(report) == answer["cause"]
    if not answer["healthy"]:
        assert cited(report, PUBLIC / answer["folder"], answer["evidence"]) > 0


@pytest.mark.parametrize("answer", answers(OWN), ids=lambda a: a["folder"])
def test_own_case(answer: dict[str, Any]) -> None:
    right = first_cause(diagnosed(OWN / answer["folder"])) in (answer["cause"], *answer.get("also_right", []))
    if why := KNOWN_MISSES.get(answer["folder"]):
        assert not right, "it is known as a miss, and isn't one any more"
        pytest.xfail(why)
    assert right


def test_no_step_crashes_on_any_case() -> None:
    for root in (PUBLIC, OWN):
        for answer in answers(root):
            assert not [f.message for f in diagnosed(root / answer["folder"]).findings if f.traceback]


def test_most_diagnoses_cite_what_proves_them() -> None:
    faulty = [a for a in answers(OWN) if not a["healthy"] and a["cause"] not in ("none", "undecided")]
    right = [a for a in faulty if first_cause(diagnosed(OWN / a["folder"])) == a["cause"]]
    proven = [a for a in right if cited(diagnosed(OWN / a["folder"]), OWN / a["folder"], a["evidence"])]
    assert len(proven) >= 0.95 * len(right)
