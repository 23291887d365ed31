"""The same fault in another form, or beside a job that went well, is the same diagnosis."""

import json
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from zlib import crc32

import pytest
import yaml

from gonogo import registry
from gonogo.diagnose import diagnose
from gonogo.model import Verdict

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"
FOLDERS = [
    a["folder"] for a in json.loads((CASES / "answers.json").read_text("utf-8")) if crc32(a["folder"].encode()) % 3
]
"""Two of three, by their names: a case that is added leaves the others what they were."""
PACKED = (b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff")
MOMENT = re.compile(rb"(20\d\d-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)")
CTIME = re.compile(rb"\d\d:\d\d:\d\d 20\d\d\]")
BLIP, JOINED = "healthy-notready-blip-before-job", "healthy-gai-warning-then-joined"
# What is known to change, and is not mended yet.
CHANGED_BY = {
    ("kubelet-config-cannot-be-decoded", BLIP),
    ("capacity-eight-allocatable-seven-no-events", BLIP),
    ("capacity-eight-allocatable-seven-no-events", JOINED),
    ("gatekeeper-denies-host-network-workers", JOINED),
    ("d-ckpt-upload-403", JOINED),
    ("d-submit-from-ci", BLIP),
    ("d-new-image-rollout", JOINED),
    ("b2-only-the-conditions-of-a-silent-node", BLIP),
    ("b2-only-the-conditions-of-a-silent-node", JOINED),
    ("b2-conditions-cut-from-describe-of-a-silent-node", BLIP),
    ("b2-conditions-cut-from-describe-of-a-silent-node", JOINED),
    ("b2-the-only-node-is-unreachable", BLIP),
}
CHANGED_AS = {
    ("no-credentials-in-pods-and-a-hop-limit-of-one", "as_yaml"),
    ("kubelet-skew-four-minors", "as_yaml"),
    ("cgroup-oom-journal-and-exit-9", "from_containerd"),
    ("job-timeout-hfeval", "from_kubectl"),
    ("job-timeout-hfeval", "from_containerd"),
    ("b2-decoded-refusal-no-statement-allows", "as_yaml"),
    ("b2-terraform-error-unauthorized-and-no-more", "from_kubectl"),
    ("b2-terraform-error-unauthorized-and-no-more", "from_containerd"),
}


@cache
def first(path: Path) -> str:
    report = diagnose(path, registry=registry.load_causes_of("gonogo.facts.events"))
    return report.diagnoses[0].cause if report.verdict is Verdict.FAULT else str(report.verdict)


def crlf(path: Path, data: bytes) -> tuple[Path, bytes]:
    return path, data.replace(b"\n", b"\r\n")


def from_kubectl(path: Path, data: bytes) -> tuple[Path, bytes]:
    """`kubectl logs --prefix`."""
    if path.suffix != ".log" or data[:1] == b"{":
        return path, data
    return path, re.sub(rb"(?m)^(?=.)", f"[pod/{path.name.split('.')[0]}/main] ".encode(), data)


def from_containerd(path: Path, data: bytes) -> tuple[Path, bytes]:
    """With a time before each line: the last of the case's own, so that nothing is told to have been at another."""
    told = [p.read_bytes() for p in path.parent.iterdir() if p.is_file()]
    if path.suffix != ".log" or data[:1] == b"{" or any(CTIME.search(each) for each in told):
        return path, data
    day, clock = max((m for each in told for m in MOMENT.findall(each)), default=(b"2026-03-01", b"00:00:07"))
    return path, re.sub(rb"(?m)^(?=.)", day + b"T" + clock + b".123456789Z stderr F ", data)


def is_one(path: Path, data: bytes) -> bool:
    """Whether a file is one JSON value, and not a line of JSON each, as journalctl prints."""
    return path.suffix == ".json" and b"\n{" not in data


def one_line(path: Path, data: bytes) -> tuple[Path, bytes]:
    return (path, json.dumps(json.loads(data)).encode()) if is_one(path, data) else (path, data)


def as_yaml(path: Path, data: bytes) -> tuple[Path, bytes]:
    if not is_one(path, data):
        return path, data
    return path.with_suffix(".yaml"), yaml.safe_dump(json.loads(data), sort_keys=False).encode()


@pytest.mark.parametrize("form", [crlf, from_kubectl, from_containerd, one_line, as_yaml])
def test_another_form_changes_nothing(form: Callable[[Path, bytes], tuple[Path, bytes]], tmp_path: Path) -> None:
    changed = set()
    for folder in FOLDERS:
        for path in (p for p in (CASES / folder).rglob("*") if p.is_file()):
            data = path.read_bytes()
            name, data = (path, data) if data[:2] in PACKED else form(path, data)
            target = tmp_path / name.relative_to(CASES)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        if first(tmp_path / folder) != first(CASES / folder):
            changed.add((folder, form.__name__))
    assert changed == {pair for pair in CHANGED_AS if pair[1] == form.__name__}


@pytest.mark.parametrize("other", [BLIP, JOINED])
def test_another_jobs_good_end_hides_nothing(other: str, tmp_path: Path) -> None:
    changed = set()
    for folder in FOLDERS:
        shutil.copytree(CASES / folder, tmp_path / folder)
        shutil.copytree(CASES / other, tmp_path / folder / "other", dirs_exist_ok=True)
        if first(tmp_path / folder) != first(CASES / folder):
            changed.add((folder, other))
    assert changed == {pair for pair in CHANGED_BY if pair[1] == other}
