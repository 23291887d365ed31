"""With the lines that prove the answer gone, another cause is hardly ever named: rather nothing, or what to collect."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gonogo import registry
from gonogo.diagnose import diagnose
from gonogo.model import Verdict

CASES = Path(__file__).parents[1] / "cases"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
MOST_WRONG = 0.02


def faulty() -> list[dict[str, Any]]:
    told = json.loads((CASES / "answers.json").read_text("utf-8"))
    return [a for a in told if a["cause"] not in ("none", "undecided")]


def right(answer: dict[str, Any]) -> set[str]:
    """What is true of the case: its answers, and the more general causes that give way to them when there is proof."""
    told = {answer["cause"], *answer.get("causes", []), *answer.get("also_right", [])}
    known = registry.load_causes_of("gonogo.facts.events").every_cause
    return told.union(*(cause.refines for cause in known if cause.id in told))


def without(path: Path, part: str) -> None:
    """Removes the lines of a file that hold a text."""
    data = path.read_bytes()
    packed = data[:2] == b"\x1f\x8b"
    data = gzip.decompress(data) if packed else data
    form = "utf-16" if data[:2] in UTF_16 else "utf-8"
    lines = data.decode(form, "surrogateescape" if form == "utf-8" else "strict").splitlines(keepends=True)
    left = "".join(line for line in lines if part not in line)
    data = left.encode(form, "surrogateescape" if form == "utf-8" else "strict")
    path.write_bytes(gzip.compress(data) if packed else data)


def all_lines(folder: Path, evidence: list[dict[str, str]]) -> bool:
    for each in evidence:
        without(folder / each["file"], each["contains"])
    return True


def first_line(folder: Path, evidence: list[dict[str, str]]) -> bool:
    return all_lines(folder, evidence[:1])


def first_file(folder: Path, evidence: list[dict[str, str]]) -> bool:
    (folder / evidence[0]["file"]).unlink()
    return any(p.is_file() for p in folder.rglob("*"))


def named(folder: Path) -> str:
    """The first cause, where it is named as a fault."""
    report = diagnose(folder, registry=registry.load_causes_of("gonogo.facts.events"))
    return report.diagnoses[0].cause if report.verdict is Verdict.FAULT else ""


@pytest.mark.parametrize(("take", "least_right"), [(all_lines, 0.15), (first_line, 0.33), (first_file, 0.15)])
def test_another_cause_is_hardly_ever_named(
    take: Callable[[Path, list[dict[str, str]]], bool], least_right: float, tmp_path: Path
) -> None:
    hits, wrong, count = 0, list[str](), 0
    for answer in faulty():
        folder = tmp_path / answer["folder"]
        shutil.copytree(CASES / answer["folder"], folder)
        if take(folder, answer["evidence"]):
            count += 1
            cause = named(folder)
            hits += cause in (answer["cause"], *answer.get("causes", []))
            if cause and cause not in right(answer):
                wrong.append(f"{answer['folder']}: {cause}")
        shutil.rmtree(folder)
    assert count >= 400
    assert len(wrong) <= MOST_WRONG * count, "\n".join(wrong)
    assert hits >= least_right * count, "to say nothing isn't to be precise"
