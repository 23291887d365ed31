"""Bundles from anywhere: whatever is in them gives documents, losses with reasons, or one line."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.documents import replay
from gonogo.documents.records import LOGS, LinksLog, NodeLog, PortsLog, StepLog, TrainLog
from gonogo.errors import InputError
from gonogo.kernel import Lost
from gonogo.model import Status


def line(node: str, step: str, kind: str, t: float = 0.0, **more: object) -> bytes:
    return json.dumps({"v": 1, "run": "r", "node": node, "t": t, "step": step, "kind": kind, **more}).encode() + b"\n"


BUILT = line("fabric", "fabric", "built", nodes=[{"name": "node0"}, {"name": "node1"}])


def test_a_step_is_as_it_was_when_it_was_over() -> None:
    over = line("fabric", "fabric", "over", of="node", ended={"node1": "killed by signal 9"},
                lines={"agents/node0.jsonl": 1, "agents/fabric.jsonl": 1})  # fmt: skip
    files = {
        "agents/fabric.jsonl": BUILT + over,
        "agents/node0.jsonl": line("node0", "node", "info") + line("node0", "agent", "heartbeat"),
        "agents/node1.jsonl": line("node1", "node", "info"),
    }
    log = replay.logs(files)[NodeLog]
    assert isinstance(log, NodeLog)
    assert log.nodes == ("node0", "node1")
    assert [(r.node, r.kind) for r in log.records] == [("fabric", "built"), ("node0", "info")]
    assert log.ended == {"node0": "", "node1": "killed by signal 9"}


def test_what_was_lost_then_is_lost_for_the_same_reason() -> None:
    lost = {"LinksLog": {"reason": "interrupted", "status": "unknown"}}
    lost |= {"TrainLog": {"reason": "no torch", "status": "skip"}}
    logs = replay.logs({}, {"lost": lost})
    assert logs[LinksLog] == Lost("interrupted", Status.UNKNOWN)
    assert logs[TrainLog] == Lost("no torch", Status.SKIP)


def test_what_was_over_too_late_for_its_run_stays_lost() -> None:
    files = {"agents/fabric.jsonl": BUILT + line("fabric", "fabric", "over", of="links", lines={}, ended={})}
    assert isinstance(replay.logs(files)[LinksLog], LinksLog)
    lost = {"LinksLog": {"reason": "interrupted", "status": "unknown"}}
    assert replay.logs(files, {"lost": lost})[LinksLog] == Lost("interrupted", Status.UNKNOWN)


def test_what_was_not_asked_for_is_a_skip_and_what_is_missing_an_unknown() -> None:
    logs = replay.logs({}, {"steps": ["node", "ports"]})
    assert {kind: log.status for kind, log in logs.items() if isinstance(log, Lost)} == {
        kind: Status.UNKNOWN if kind in (NodeLog, PortsLog) else Status.SKIP for kind in LOGS.values()
    }


def test_a_run_that_was_cut_short_says_how_each_agent_ended() -> None:
    files = {
        "agents/fabric.jsonl": BUILT + line("fabric", "fabric", "exit", 9.0, of="node1", signal=9, code=None),
        "agents/node0.jsonl": line("node0", "ports", "probe") + line("node0", "agent", "finish"),
        "agents/node1.jsonl": line("node1", "ports", "probe"),
    }
    log = replay.logs(files)[PortsLog]
    assert isinstance(log, StepLog)
    assert log.ended == {"node0": "", "node1": "killed by signal 9"}


def test_nodes_are_in_natural_order_where_nobody_says() -> None:
    files = {f"agents/node{n}.jsonl": line(f"node{n}", "node", "info") for n in (10, 2, 1)}
    log = replay.logs(files)[NodeLog]
    assert isinstance(log, NodeLog)
    assert log.nodes == ("node1", "node2", "node10")


def test_who_is_only_spoken_of_was_expected_too() -> None:
    """Of an archive that is cut off, the first file may be all: its node was not alone."""
    data = line("node1", "ports", "probe", peer="node0") + line("node1", "ports", "probe", peer=["node3"])
    log = replay.logs({"agents/node1.jsonl": data})[PortsLog]
    assert isinstance(log, PortsLog)
    assert log.nodes == ("node0", "node1")
    assert log.ended["node0"] == "its records end before the first"


@pytest.mark.parametrize("lost", [0, 1])
def test_what_follows_lost_records_is_not_read(lost: int) -> None:
    """A step without its last measurements looks as if it had never made them."""
    lines = [line("node0", "node", "info", seq=seq) for seq in range(4)]
    notes: list[str] = []
    files = {"agents/fabric.jsonl": BUILT, "agents/node0.jsonl": b"".join(lines[:lost] + lines[lost + 1 :])}
    log = replay.logs(files, notes=notes)[NodeLog]
    assert len(list(log.of("info"))) == lost if isinstance(log, StepLog) else not lost
    assert notes == [f"agents/node0.jsonl lacks records before line {lost + 1}, so that what follows was not read."]


def test_damaged_lines_are_counted_and_named() -> None:
    notes: list[str] = []
    data = line("node0", "node", "info") + b"garbage\n[1]\n{}\n" + b'{"v":1,"node":1,"step":"x","kind":"y"}\n'
    replay.logs({"agents/node0.jsonl": data}, notes=notes)
    assert notes == ["agents/node0.jsonl has 4 damaged lines of 5."]


def _tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for info, data in members:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def _link(name: str, to: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info, b""


GOOD = (tarfile.TarInfo("agents/node0.jsonl"), line("node0", "node", "info"))


@pytest.mark.parametrize("name", ["../run.json", "/tmp/run.json", "agents/../../x.json", "a/../../../etc/x.json"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    path = _tar(tmp_path / "b.tar.gz", GOOD, (tarfile.TarInfo(name), b"{}"))
    with pytest.raises(InputError, match="leads out of it") as error:
        replay.read(path)
    assert "\n" not in str(error.value)
    assert [p.name for p in tmp_path.rglob("*")] == ["b.tar.gz"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_not_followed(tmp_path: Path, kind: bytes) -> None:
    path = _tar(tmp_path / "b.tar.gz", GOOD, _link("agents/node1.jsonl", "/etc/passwd", kind))
    found = replay.read(path)
    assert any("node1.jsonl" in note for note in found.notes)
    log = found.logs[NodeLog]
    assert isinstance(log, NodeLog)
    assert log.nodes == ("node0",)


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "b/agents").mkdir(parents=True)
    (tmp_path / "outside.jsonl").write_bytes(line("node9", "node", "info"))
    (tmp_path / "b/agents/node0.jsonl").write_bytes(GOOD[1])
    (tmp_path / "b/agents/node9.jsonl").symlink_to(tmp_path / "outside.jsonl")
    os.mkfifo(tmp_path / "b/agents/node8.jsonl")
    log = replay.read(tmp_path / "b").logs[NodeLog]
    assert isinstance(log, NodeLog)
    assert log.nodes == ("node0",)


def test_an_archive_that_is_cut_off_gives_what_it_can_and_says_so(tmp_path: Path) -> None:
    noise = b"".join(line("node1", "node", "info", text=os.urandom(500).hex()) for _ in range(200))
    path = _tar(tmp_path / "b.tar.gz", GOOD, (tarfile.TarInfo("agents/node1.jsonl"), noise))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    found = replay.read(path)
    assert isinstance(found.logs[NodeLog], NodeLog)
    assert any("could not be read to its end" in note for note in found.notes)


def test_what_unpacks_to_far_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "MOST_FILE_BYTES", 1 << 20)
    with pytest.raises(InputError, match="too large"):
        replay.read(_tar(tmp_path / "b.tar.gz", (tarfile.TarInfo("agents/node0.jsonl"), b"\n" * (2 << 20))))


@pytest.mark.parametrize(
    "data", [b"", b"text", bytes(range(256)) * 10, b"\x1f\x8b" + b"x" * 100, gzip.compress(b"x", mtime=0)]
)
def test_a_file_that_is_no_bundle_is_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file.tar.gz").write_bytes(data)
    with pytest.raises(InputError) as error:
        replay.read(tmp_path / "file.tar.gz")
    assert "\n" not in str(error.value)


def test_a_folder_that_is_no_bundle_is_one_line(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", Path("/dev/null"), Path("a\0b")):
        with pytest.raises(InputError):
            replay.read(path)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_RECORD = st.fixed_dictionaries(
    {
        "v": st.just(1) | _VALUES,
        "node": st.sampled_from(["node0", "fabric", "x"]) | _VALUES,
        "step": st.sampled_from(["node", "ports", "agent", "fabric"]) | _VALUES,
        "kind": st.sampled_from(["built", "over", "exit", "info"]) | _VALUES,
    },
    optional={"t": _VALUES, "of": st.sampled_from(["node", "node0"]) | _VALUES, "ended": _VALUES, "lines": _VALUES,
              "nodes": _VALUES, "signal": _VALUES},
)  # fmt: skip


@given(
    st.lists(_RECORD, max_size=8), st.binary(max_size=50), st.dictionaries(st.sampled_from(["lost", "steps"]), _VALUES)
)
def test_any_records_give_every_document_or_its_loss(
    records: list[dict[str, object]], tail: bytes, run: dict[str, object]
) -> None:
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records) + tail
    logs = replay.logs({"agents/node0.jsonl": data, "agents/fabric.jsonl": data}, run)
    assert set(logs) == set(LOGS.values())
    assert all(isinstance(log, kind | Lost) for kind, log in logs.items())


def _packed(tmp_path: Path) -> bytes:
    return gzip.decompress(
        _tar(tmp_path / "whole.tar.gz", GOOD, (tarfile.TarInfo("agents/node1.jsonl"), b"{}\n")).read_bytes()
    )


@pytest.mark.parametrize("at", [0.3, 0.6, 0.9])
def test_an_archive_with_a_flipped_bit_is_not_judged(tmp_path: Path, at: float) -> None:
    noise = b"".join(line("node1", "node", "info", text=os.urandom(50).hex()) for _ in range(20))
    path = _tar(tmp_path / "b.tar.gz", GOOD, (tarfile.TarInfo("agents/node1.jsonl"), noise))
    data = bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 0x10
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"b\.tar\.gz: (is damaged|holds no bundle that can be read)"):
        replay.read(path)


def test_a_member_whose_header_is_damaged_is_told_and_not_taken_for_the_end(tmp_path: Path) -> None:
    data = bytearray(_packed(tmp_path))
    data[1024:1536] = b"x" * 512  # the second header: the first member has one block
    (tmp_path / "b.tar").write_bytes(data)
    found = replay.read(tmp_path / "b.tar")
    assert any("after member 1, which begins at byte 0" in note for note in found.notes)


def test_an_archive_of_which_nothing_could_be_read_says_how_far_it_came(tmp_path: Path) -> None:
    (tmp_path / "b.tar.gz").write_bytes(gzip.compress(_packed(tmp_path))[:40])
    with pytest.raises(InputError, match=r"holds no bundle that can be read: .*, after [0-9]+ bytes\.$"):
        replay.read(tmp_path / "b.tar.gz")
