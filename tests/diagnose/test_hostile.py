"""Hostile input is normal input: bounded, clear, safe."""

import gzip
import io
import json
import os
import tarfile
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo import registry
from gonogo.diagnose import diagnose
from gonogo.documents.blocks import blocks
from gonogo.documents.sources import Limits, Notes, sources
from gonogo.documents.structured import line_of, parse
from gonogo.facts.objects import read_objects
from gonogo.model import Verdict
from gonogo.report import diagnosis, lists, markdown
from gonogo.report import json as as_json

FAULT = b"NVRM: Xid (PCI:0000:a0:1d): 79, pid=1, name=x, GPU has fallen off the bus.\n"


def names(path: Path | None, stdin: bytes = b"", limits: Limits | None = None) -> tuple[dict[str, bytes], str]:
    notes = Notes()
    found = {s.name: s.stream.read(1 << 26) for s in sources(path, io.BytesIO(stdin), notes, limits)}
    return found, " ".join(notes.sentences())


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(FAULT)
    inside = tmp_path / "logs"
    inside.mkdir()
    (inside / "a.log").symlink_to(tmp_path / "secret")
    (inside / "loop").symlink_to(inside)
    os.mkfifo(inside / "pipe")
    found, notes = names(inside)
    assert found == {}
    assert "link" in notes and "pipe is neither a file nor a folder" in notes


def test_an_archive_bomb_ends_early(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    with gzip.open(bomb, "wb", 9) as out:
        for _ in range(80):
            out.write(bytes([65]) * (1 << 20))
    notes = Notes()
    limits = Limits(unpacked_bytes=16 << 20)
    total = sum(len(b.data) for s in sources(bomb, io.BytesIO(), notes, limits) for b in blocks(s.stream))
    assert total <= 17 << 20
    assert "the rest was not read" in " ".join(notes.sentences())


def test_archives_in_archives_are_read_to_a_depth(tmp_path: Path) -> None:
    data = FAULT
    for _ in range(6):
        data = gzip.compress(data)
    (tmp_path / "deep.gz").write_bytes(data)
    found, notes = names(tmp_path)
    assert found == {} and "packed too many times" in notes


def test_a_tar_is_read_without_touching_the_disk(tmp_path: Path) -> None:
    archive = tmp_path / "logs.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in ("../../escape.log", "node/dmesg.txt"):
            member = tarfile.TarInfo(name)
            member.size = len(FAULT)
            tar.addfile(member, io.BytesIO(FAULT))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    report = diagnose(archive, registry=registry.load_causes_of("gonogo.facts.events"))
    assert report.verdict is Verdict.FAULT
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["logs.tar.gz"]
    assert any("link" in c.reason for c in report.coverage.not_proven)


def test_a_zip_is_read_and_a_broken_one_is_said(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("dmesg", FAULT)
    (tmp_path / "b.zip").write_bytes((tmp_path / "a.zip").read_bytes()[:60])
    found, notes = names(tmp_path)
    assert found == {"dmesg": FAULT}
    assert "b.zip is an archive that could not be read" in notes


def test_an_encrypted_member_is_said_and_the_others_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("secret.log", FAULT)
        archive.writestr("dmesg", FAULT)
    data = bytearray((tmp_path / "a.zip").read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1  # the flag in the index
    (tmp_path / "a.zip").write_bytes(data)
    found, notes = names(tmp_path)
    assert found == {"dmesg": FAULT}
    assert notes == "secret.log is encrypted and was not read."


def test_a_folder_that_cannot_be_listed_is_an_error_and_one_in_it_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir()
    listed = os.scandir

    def refusing(path: Path) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert names(tmp_path) == ({}, "closed could not be listed: Permission denied.")
    with pytest.raises(PermissionError):
        names(tmp_path / "closed")


def test_a_file_that_is_cut_off_gives_what_it_has(tmp_path: Path) -> None:
    whole = gzip.compress(FAULT * 5_000 + os.urandom(200_000))
    (tmp_path / "cut.log.gz").write_bytes(whole[: len(whole) // 2])
    found, notes = names(tmp_path)
    assert found["cut.log.gz"].startswith(FAULT)
    assert "could not be read to its end" in notes


def test_a_million_files_are_bounded(tmp_path: Path) -> None:
    for i in range(50):
        (tmp_path / f"{i:03}.log").write_bytes(FAULT)
    found, notes = names(tmp_path, limits=Limits(files=20))
    assert len(found) == 20 and "only 20 files are" in notes


def test_one_endless_line_keeps_memory_small() -> None:
    class Endless(io.RawIOBase):
        left = 64 << 20

        def readable(self) -> bool:
            return True

        def readinto(self, buffer) -> int:
            size = min(len(buffer), self.left)
            buffer[:size] = b"x" * size
            self.left -= size
            return size

    sizes = [len(b.data) for b in blocks(io.BufferedReader(Endless()))]
    assert sum(sizes) == 64 << 20 and max(sizes) < 8 << 20


def test_binary_is_left_out_and_said(tmp_path: Path) -> None:
    (tmp_path / "core.1").write_bytes(os.urandom(100_000))
    report = diagnose(tmp_path, registry=registry.load_causes_of("gonogo.facts.events"))
    assert report.verdict is Verdict.DIAGNOSE_UNDECIDED
    assert "core.1 is binary and was not read." in [c.reason for c in report.coverage.not_proven]


def test_utf_16_and_byte_order_marks_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(("﻿" + FAULT.decode()).encode("utf-16-le"))
    (tmp_path / "b.txt").write_bytes(b"\xef\xbb\xbf" + FAULT)
    report = diagnose(tmp_path, registry=registry.load_causes_of("gonogo.facts.events"))
    assert {e.file for e in report.diagnoses[0].evidence} == {"a.txt", "b.txt"}


def test_aliases_do_not_blow_up() -> None:
    laughs = "kind: Pod\na: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 30)}]\n" for i in range(20)
    )
    assert list(read_objects("bomb.yaml", laughs)) == []


def test_deep_json_is_text() -> None:
    assert list(parse("[" * 200_000)) == []


def test_secrets_do_not_reach_the_report(tmp_path: Path) -> None:
    text = (
        "export HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789 RuntimeError: CUDA out of memory. Tried to "
        "allocate 2.00 GiB\n"
    )
    (tmp_path / "a.log").write_text(text)
    from gonogo.report.diagnosis import render
    from gonogo.report.json import render as as_json
    from gonogo.report.markdown import render as markdown

    report = diagnose(tmp_path, registry=registry.load_causes_of("gonogo.facts.events"))
    for page in (markdown(report), render(report), as_json(report)):
        assert "hf_abc" not in page


@given(st.binary(max_size=3000))
def test_any_bytes_are_read(data: bytes) -> None:
    read = b"".join(b.data for b in blocks(io.BytesIO(data), size=64))
    assert data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x1b" in data or data.startswith(b"\xef\xbb\xbf") or read == data


@given(st.text(max_size=400))
def test_any_text_has_objects_or_not(text: str) -> None:
    for one in read_objects("x", text):
        one.cite("a.b.0.c")


json_values = st.recursive(
    st.text(max_size=5) | st.integers(),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=2), x, max_size=3),
)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), json_values, min_size=1, max_size=4))
def test_a_value_of_a_json_document_is_found_on_its_line(data: dict) -> None:
    text = json.dumps({"kind": "Pod", **data}, indent=1)
    (parsed,) = parse(text)
    for key in data:
        assert f'"{key}"' in text.split("\n")[line_of(text, parsed, (key,)) - 1]


HEALTHY = b"".join(b"step %d loss 1.%d\n" % (i, i) for i in range(2_000))
POD = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "status": {"phase": "Running"}'

UNREAD = {
    "cut JSON": (POD, "pods could not be read as objects, only as lines: line 1: Expecting ',' delimiter."),
    "cut JSON in lines": (POD.replace(", ", ",\n"), "line 4: Expecting"),
    "deep JSON": (POD + ', "x": ' + "[" * 100_000, "nested too deep."),
    "a number of 9,999 digits": (f'{POD}, "x": {"9" * 9_999}}}', "limit (4300 digits)"),
    "cut YAML": ("apiVersion: v1\nkind: Pod\nstatus: {phase: Running\n", "line 4: did not find"),
    "a tag": ("apiVersion: v1\nkind: Pod\nx: !!python/name:os.system\n", "line 3: could not determine"),
    "a second document": ("# a comment\n---\napiVersion: v1\nkind: [\n", "line 5: did not find"),
    "itself": ("kind: Pod\nmetadata: &a {b: *a}\n", "made too large by aliases."),
    "cut": (gzip.compress(HEALTHY)[:-20], "could not be read to its end"),
    "damaged": (gzip.compress(HEALTHY)[:-8] + bytes(8), "CRC check failed"),
}


@pytest.mark.parametrize("kind", UNREAD)
def test_nothing_found_where_not_all_could_be_read_is_undecided(tmp_path: Path, kind: str) -> None:
    text, said = UNREAD[kind]
    (tmp_path / "pods").write_bytes(text if isinstance(text, bytes) else text.encode())
    report = diagnose(tmp_path, registry=registry.load_causes_of("gonogo.facts.events"))
    assert report.verdict is Verdict.DIAGNOSE_UNDECIDED
    (note,) = [c.reason for c in report.coverage.not_proven if c.text == "not read"]
    assert said in note and "\n" not in note
    assert "not all could be read" in diagnosis.render(report)


@pytest.mark.parametrize(
    "text",
    [
        POD + "}",
        f"step 1\n{POD}\n",  # a transcript's head or tail
        f"$ kubectl get pod -o yaml\napiVersion: v1\nkind: Pod\n$ ls [\n{'step 1'}\n",
        "[2026-01-02 03:04:05] step 1\n[[1. 2.]\n [3. 4.]]\n",
        '{"level": "info", "msg": "step 1"}\n{"level": "in',
    ],
)
def test_what_never_was_an_object_is_not_missed(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.log").write_text(text)
    report = diagnose(tmp_path, registry=registry.load_causes_of("gonogo.facts.events"))
    assert report.verdict is Verdict.NOTHING_FOUND
    assert "not read" not in [c.text for c in report.coverage.not_proven]


def test_a_template_is_no_damaged_object_and_settles_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Values.name }}}\n")
    report = diagnose(tmp_path, registry=registry.load_causes_of("gonogo.facts.events"))
    assert report.verdict is Verdict.DIAGNOSE_UNDECIDED
    assert "not read" not in [c.text for c in report.coverage.not_proven]


@pytest.mark.parametrize("place", ["sub", "empty.log", "with-empty", "blank.log"])
def test_nothing_to_read_is_undecided(tmp_path: Path, place: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "blank.log").write_text(" \n\n\t\r\n" * 9)
    (tmp_path / "empty.log").touch()
    (tmp_path / "with-empty").mkdir()
    (tmp_path / "with-empty" / "rank0.log").touch()
    assert (
        diagnose(tmp_path / place, registry=registry.load_causes_of("gonogo.facts.events")).verdict
        is Verdict.DIAGNOSE_UNDECIDED
    )


@pytest.mark.parametrize(
    "log",
    [
        pytest.param(b"[rank0]: CUDA out of memory. Tried to allocate 2 GiB db://me:hunter2x@h/x\n", id="a line"),
        pytest.param(b"2026-01-02T03:04:05Z CUDA out of memory. Tried to allocate 2 GiB token=hunter2x\n", id="a time"),
        pytest.param(
            b'Traceback (most recent call last):\n  File "/app/train.py", line 3, in <module>\n    main()\n'
            b"app.ConfigError: no database at db://me:hunter2x@h/x with token=hunter2x\n",
            id="an exception",
        ),
        pytest.param(b'Failed to pull image "https://me:hunter2x@r.io/x:1": 401 Unauthorized\n', id="an image"),
    ],
)
def test_no_form_of_the_report_tells_a_secret_of_the_log(tmp_path: Path, log: bytes) -> None:
    (tmp_path / "a.log").write_bytes(log)
    report = diagnose(tmp_path, registry=registry.load_causes_of("gonogo.facts.events"))
    shown = (
        diagnosis.render(report, wide=True) + as_json.render(report) + markdown.render(report)
        + lists.yaml_text(report) + lists.names(report)
    )  # fmt: skip
    assert report.verdict is Verdict.FAULT
    assert "[redacted]" in shown
    assert "hunter2x" not in shown


def test_a_yaml_bomb_is_not_read_as_objects() -> None:
    bomb = "apiVersion: v1\nkind: Pod\na0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for i in range(1, 15):
        bomb += f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n"
    assert list(read_objects("bomb.yaml", bomb)) == []


def test_thousands_of_killed_pods_and_tables_are_read_at_once(tmp_path: Path) -> None:
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    status = {"phase": "Failed", "containerStatuses": [{"name": "m", "restartCount": 1, "lastState": ended}]}
    items = [{"kind": "Pod", "metadata": {"name": f"t-{i}"}, "status": status} for i in range(4_000)]
    (tmp_path / "pods.json").write_text(json.dumps({"kind": "List", "items": items}, indent=1))
    table = "------------\n|  Answer  |\n+----+-----+\n|  A |  B  |\n+----+-----+\n|  1 |  2  |\n+----+-----+\n"
    (tmp_path / "tables.txt").write_text(table * 20_000)
    began = time.process_time()
    report = diagnose(tmp_path, registry=registry.load_causes_of("gonogo.facts.events"))
    assert report.diagnoses[0].cause == "pod.oom_killed"
    assert time.process_time() - began < 30  # without a memory of lines it takes over a minute
