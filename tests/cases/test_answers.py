"""The cases and their answers fit together: folders, evidence, cause ids, and enough healthy ones."""

import gzip
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SETS = {"build": [HERE / "answers.json"]}
"""The files with answers of each set, for folders beside them."""
LISTED = HERE / "causes.txt"
FIELDS = {
    "folder",
    "healthy",
    "cause",
    "kind",
    "root_cause",
    "fix",
    "evidence",
    "difficulty",
    "certainty",
    "sources",
    "set",
}
OPTIONAL = {"absent", "also_right", "causes", "near_miss_of", "next_observation"}
MOST_BYTES = 60_000


@cache
def answers() -> list[dict[str, Any]]:
    return [answer for name in SETS for answer in of(name)]


def folder(answer: dict[str, Any]) -> Path:
    return SETS[answer["set"]][0].parent / answer["folder"]


def text(path: Path) -> str:
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")


@cache
def cause_ids() -> set[str]:
    return set(LISTED.read_text("utf-8").split())


@cache
def of(name: str) -> list[dict[str, Any]]:
    """The answers of a set; there are some."""
    found = [answer for file in SETS[name] for answer in json.loads(file.read_text("utf-8"))]
    assert found
    return found


each = pytest.mark.parametrize("name", SETS)


@each
def test_every_folder_has_one_answer_and_every_answer_a_folder(name: str) -> None:
    root = SETS[name][0].parent
    folders = {path.name for path in root.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {answer["folder"] for answer in of(name)}
    assert all(answer["set"] == name for answer in of(name))
    for file in SETS[name]:
        named = [answer["folder"] for answer in json.loads(file.read_text("utf-8"))]
        assert len(named) == len(set(named)), file.name


@each
def test_answers_have_their_fields(name: str) -> None:
    for answer in of(name):
        assert FIELDS <= set(answer) <= FIELDS | OPTIONAL, answer
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", answer["folder"])
        assert answer["healthy"] == (answer["cause"] == "none"), answer["folder"]
        sources = answer["sources"]
        assert sources and all(source.startswith("https://") for source in sources), answer["folder"]
        assert answer["cause"] != "undecided" or answer["next_observation"], answer["folder"]


@each
def test_causes_are_listed_ones(name: str) -> None:
    for answer in of(name):
        named = {answer["cause"], *answer.get("causes", []), *answer.get("also_right", [])} - {"none", "undecided"}
        assert named <= cause_ids(), answer["folder"]
        assert answer.get("near_miss_of", answer["cause"]) in cause_ids() | {"none", "undecided"}, answer["folder"]
        assert answer.get("near_miss_of") not in named, answer["folder"]
        if "causes" in answer:
            assert len(answer["causes"]) > 1 and answer["causes"][0] == answer["cause"], answer["folder"]


@each
def test_evidence_occurs_and_what_is_absent_does_not(name: str) -> None:
    for answer in of(name):
        assert answer["evidence"], answer["folder"]
        for evidence in answer["evidence"]:
            assert evidence["contains"] in text(folder(answer) / evidence["file"]), answer["folder"]
        for absence in answer.get("absent", []):
            assert absence["lacks"] not in text(folder(answer) / absence["file"]), answer["folder"]


@each
def test_cases_are_small_and_do_not_hold_their_answers(name: str) -> None:
    causes = cause_ids()
    for answer in of(name):
        files = [path for path in folder(answer).rglob("*") if path.is_file()]
        assert files, answer["folder"]
        for path in files:
            assert path.stat().st_size <= MOST_BYTES, path
            content = text(path)
            assert not [cause for cause in causes if cause in content], path


def test_there_are_enough_and_a_quarter_is_healthy_or_a_near_miss() -> None:
    harmless = [answer for answer in answers() if answer["healthy"] or "near_miss_of" in answer]
    assert len(answers()) >= 100
    healthy = [answer for answer in answers() if answer["healthy"]]
    assert len(healthy) >= len(answers()) / 5
    assert len(harmless) >= len(answers()) / 3
    assert len({answer["cause"] for answer in answers()}) >= 70
