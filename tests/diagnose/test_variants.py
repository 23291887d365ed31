"""What other versions and tools print of the same faults, and what looks like one and isn't."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from gonogo import registry
from gonogo.diagnose import diagnose
from gonogo.model import Certainty, Verdict

HERE = Path(__file__).parent
VARIANTS = [v for p in sorted(HERE.glob("variants*.toml")) for v in tomllib.loads(p.read_text("utf-8"))["variant"]]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v["cause"])
def test_variant(variant: dict[str, Any], tmp_path: Path) -> None:
    for name, text in variant["files"].items():
        (tmp_path / name).write_text(text.strip() + "\n")
    report = diagnose(tmp_path, registry=registry.load_causes_of("gonogo.facts.events"))
    names = {Verdict.NOTHING_FOUND: "none", Verdict.DIAGNOSE_UNDECIDED: "undecided"}
    assert (names.get(report.verdict) or report.diagnoses[0].cause) == variant["cause"]
    if guess := variant.get("guess"):
        first = report.diagnoses[0]
        assert (first.cause, first.certainty) == (guess, Certainty.HYPOTHESIS) and first.next_observation
