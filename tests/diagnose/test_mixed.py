"""What lies beside a case changes little: noise of a job that went well, and a cascade without its root."""

import json
import random
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gonogo import registry
from gonogo.diagnose import diagnose
from gonogo.documents.blocks import Block
from gonogo.facts.events import Scan
from gonogo.facts.signatures import Role
from gonogo.model import Verdict

CASES = Path(__file__).parents[1] / "cases"
PACKED = (b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff")
PAIRS = 150
OPEN = (str(Verdict.DIAGNOSE_UNDECIDED), str(Verdict.NOTHING_FOUND))


@cache
def answers() -> list[dict[str, Any]]:
    return json.loads((CASES / "answers.json").read_text("utf-8"))


def of(*causes: str) -> list[dict[str, Any]]:
    """The cases whose answer is one of these; all with a fault for none."""
    return [a for a in answers() if (a["cause"] in causes if causes else a["cause"] not in ("none", "undecided"))]


def right(answer: dict[str, Any]) -> set[str]:
    return {answer["cause"], *answer.get("causes", []), *answer.get("also_right", [])}


def named(folder: Path) -> str:
    report = diagnose(folder, registry=registry.load_causes_of("gonogo.facts.events"))
    return report.diagnoses[0].cause if report.verdict is Verdict.FAULT else str(report.verdict)


def side_by_side(target: Path, *some: dict[str, Any]) -> Path:
    """One folder with the files of several cases, as somebody collects them."""
    shutil.rmtree(target, ignore_errors=True)
    for answer in some:
        source = CASES / answer["folder"]
        for path in (p for p in source.rglob("*") if p.is_file()):
            place = target / path.relative_to(source)
            while place.exists():
                place = place.with_name(f"other-{place.name}")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
    return target


def without_roots(path: Path) -> None:
    """Removes the lines that say what went wrong, and leaves those that follow from it."""
    data = path.read_bytes()
    if data[:2] in PACKED or path.suffix in (".json", ".yaml", ".yml"):
        return
    scan = Scan()
    scan.open(path.name)
    scan.feed(Block(data, 1))
    roots = {e.line for e in scan.events() if e.role is Role.INITIATING or e.signature == "python.exception"}
    path.write_bytes(b"\n".join(line for n, line in enumerate(data.split(b"\n"), 1) if n not in roots))


@pytest.mark.parametrize("seed", [1, 2])
def test_noise_of_a_job_that_went_well_names_no_other_cause(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    found, wrong = 0, []
    for _ in range(PAIRS):
        faulty, healthy = chance.choice(of()), chance.choice(of("none"))
        cause = named(side_by_side(tmp_path / "both", faulty, healthy))
        found += cause in right(faulty)
        if cause not in (*right(faulty), *OPEN):
            wrong.append(f"{faulty['folder']} + {healthy['folder']}: {cause}")
    assert len(wrong) <= 0.04 * PAIRS, "\n".join(wrong)
    assert found >= 0.8 * PAIRS


def test_two_jobs_that_went_well_are_no_fault(tmp_path: Path) -> None:
    chance = random.Random(3)
    wrong = []
    for _ in range(PAIRS):
        one, other = chance.sample(of("none"), 2)
        if (cause := named(side_by_side(tmp_path / "both", one, other))) != str(Verdict.NOTHING_FOUND):
            wrong.append(f"{one['folder']} + {other['folder']}: {cause}")
    assert len(wrong) <= 0.02 * PAIRS, "\n".join(wrong)


def test_a_cascade_without_its_root_names_no_other_cause(tmp_path: Path) -> None:
    wrong, count = [], 0
    for answer in of():
        folder = side_by_side(tmp_path / "cut", answer)
        for path in (p for p in folder.rglob("*") if p.is_file()):
            without_roots(path)
        count += 1
        if (cause := named(folder)) not in (*right(answer), *OPEN):
            wrong.append(f"{answer['folder']}: {cause}")
    assert count > 500
    assert len(wrong) <= 0.015 * count, "\n".join(wrong)
