"""A bundle of `verify` is diagnosed by what its agents measured, joined with what its logs say."""

import gzip
import io
import shutil
import tarfile
from pathlib import Path

import pytest
import zstandard

from gonogo import registry
from gonogo.diagnose import diagnose
from gonogo.model import Verdict
from gonogo.rejudge import rejudge

BUNDLES = sorted(p for p in (Path(__file__).parents[1] / "bundles").iterdir() if list(p.glob("agents/*.jsonl")))


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda p: p.name)
def test_a_bundle_says_what_its_agents_say(bundle: Path) -> None:
    report = diagnose(bundle, registry=registry.load_causes_of("gonogo.facts.events"))
    again = rejudge(bundle)
    assert again is not None
    assert report.diagnoses[: len(again.diagnoses)] == again.diagnoses
    assert report.verdict is (Verdict.FAULT if again.diagnoses else Verdict.NOTHING_FOUND)
    healthy = bundle.name.startswith("healthy") or again.verdict is Verdict.GO
    assert again.diagnoses or healthy


def test_logs_beside_the_agents_are_read_too(tmp_path: Path) -> None:
    shutil.copytree(next(b for b in BUNDLES if b.name.startswith("healthy")), tmp_path / "bundle")
    (tmp_path / "bundle" / "dmesg.txt").write_text(
        "[1.000001] NVRM: Xid (PCI:0000:a0:1d): 79, GPU has fallen off the bus.\n"
    )
    report = diagnose(tmp_path / "bundle", registry=registry.load_causes_of("gonogo.facts.events"))
    assert [d.cause for d in report.diagnoses] == ["gpu.xid79_fell_off_bus"]


def test_what_is_no_bundle_is_none(tmp_path: Path) -> None:
    (tmp_path / "worker.log").write_text("step 1\n")
    assert rejudge(tmp_path) is None


@pytest.mark.parametrize("form", ["a folder", "run.tar.gz", "run.tar.zst"])
def test_a_bundle_beside_other_files_is_judged_again(form: str, tmp_path: Path) -> None:
    broken = next(b for b in BUNDLES if not b.name.startswith("healthy"))
    (tmp_path / "in").mkdir()
    if form == "a folder":
        shutil.copytree(broken, tmp_path / "in" / "run-1")
    else:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(broken, "run-1")
        compress = gzip.compress if form.endswith("gz") else zstandard.compress
        (tmp_path / "in" / form).write_bytes(compress(packed.getvalue()))
    (tmp_path / "in" / "notes.txt").write_text("what verify kept, for the vendor\n")
    report = diagnose(tmp_path / "in", registry=registry.load_causes_of("gonogo.facts.events"))
    again = rejudge(broken)
    assert again is not None and again.diagnoses
    assert [d.cause for d in report.diagnoses] == [d.cause for d in again.diagnoses]
