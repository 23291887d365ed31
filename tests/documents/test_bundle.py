"""Bundles keep what they are given, redacted, at once, and inside their folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from gonogo.documents.bundle import KEPT, KEPT_IN_TEMPORARY, Bundle, BundleError, default_root, prune


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What prune may remove is the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))


def test_lines_are_redacted_and_kept_in_order(tmp_path: Path) -> None:
    bundle = Bundle.create(tmp_path / "b")
    written = [bundle.append("agents/node0.jsonl", line) for line in (b'{"a":1}\n', b'{"token":"abcdef99"}')]
    assert written == [b'{"a":1}', b'{"token":"[redacted]"}']
    assert (tmp_path / "b/agents/node0.jsonl").read_bytes() == b'{"a":1}\n{"token":"[redacted]"}\n'


def test_lines_are_on_disk_when_the_writer_is_killed(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from gonogo.documents.bundle import Bundle;"
        "b = Bundle.create(Path(sys.argv[1])); [b.append('a.jsonl', b'%d' % n) for n in range(100)];"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path / "b")]).returncode == -signal.SIGKILL
    assert (tmp_path / "b/a.jsonl").read_bytes().split() == [b"%d" % n for n in range(100)]


def test_lines_of_several_threads_never_mix(tmp_path: Path) -> None:
    bundle = Bundle.create(tmp_path)
    lines = [bytes([65 + n]) * 5000 for n in range(4)]
    threads = [threading.Thread(target=lambda n=n: [bundle.append("x", lines[n]) for _ in range(50)]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((tmp_path / "x").read_bytes().split()) == sorted(lines * 50)


def test_documents_are_for_their_owner_alone(tmp_path: Path) -> None:
    bundle = Bundle.create(tmp_path / "new")
    bundle.write("run.json", b"{}")
    bundle.append("agents/a.jsonl", b"{}")
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0
    assert [p.stat().st_mode & 0o077 for p in (tmp_path / "new").rglob("*.json*")] == [0, 0]


def test_a_document_is_replaced_whole(tmp_path: Path) -> None:
    bundle = Bundle.create(tmp_path)
    bundle.write("run.json", b"long " * 100)
    bundle.write("run.json", b"short")
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]
    assert (tmp_path / "run.json").read_bytes() == b"short"


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "", "a\0b"])
def test_nothing_is_written_outside(tmp_path: Path, name: str) -> None:
    bundle = Bundle.create(tmp_path / "b")
    for write in (bundle.append, bundle.write):
        with pytest.raises(BundleError):
            write(name, b"x")
    assert list((tmp_path / "b").iterdir()) == []


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(BundleError, match="isn't empty"):
        Bundle.create(tmp_path)


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BundleError, match="can't be used"):
        Bundle.create(tmp_path / "file")


def test_bundles_go_below_the_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_root("k7f3", 0.0).parent == tmp_path / "gonogo"
    assert default_root("k7f3", 0.0).name.endswith("-k7f3")


def test_bundles_go_elsewhere_where_there_is_no_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    root = default_root("k7f3", 0.0)
    assert os.access(root, os.W_OK)
    root.rmdir()


def old_bundles(state: Path, count: int) -> list[Path]:
    roots = [state / "gonogo" / f"20260101-{n:06}-abc123" for n in range(count)]
    for root in roots:
        Bundle.create(root).write("run.json", b"{}")
    return roots


def test_the_latest_bundles_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    roots = old_bundles(tmp_path, KEPT + 3)
    assert prune(time.time()) == []  # just written: a run may still go on
    assert prune(time.time() + 7200) == roots[:3]
    assert [root.exists() for root in roots] == [False] * 3 + [True] * KEPT
    assert prune(time.time() + 7200) == []


def test_what_is_no_bundle_of_the_default_folder_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert prune(time.time()) == []  # there is no such folder
    roots = old_bundles(tmp_path, 2)
    mine = Bundle.create(tmp_path / "gonogo" / "case-17").root
    elsewhere = Bundle.create(tmp_path / "elsewhere").root
    (tmp_path / "gonogo" / "20250101-000000-abc123").symlink_to(elsewhere)
    assert prune(time.time() + 7200, keep=0) == roots
    assert mine.exists() and elsewhere.exists()


def test_bundles_of_the_temporary_folder_are_bounded_and_others_things_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They land there if the default folder can't be written: a home that is a file, here."""
    (tmp_path / "home").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    roots = [Bundle.create(default_root(f"{i:06x}", time.time())).root for i in range(KEPT_IN_TEMPORARY + 2)]
    for age, root in enumerate(reversed(roots)):
        os.utime(root, (1e9 - age, 1e9 - age))
    link, target = tmp_path / "gonogo-bundle-000000-aaaaaaaa", tmp_path / "theirs"
    target.mkdir()
    link.symlink_to(target)
    named = Bundle.create(tmp_path / "gonogo-bundle-mine").root
    assert prune(time.time()) == roots[:2]
    assert all(path.exists() for path in (*roots[2:], link, target, named))
    if os.geteuid() == 0:
        os.chown(roots[2], 12345, 12345)
        assert prune(time.time(), keep=0) == roots[3:]
        assert roots[2].exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device of Linux")
def test_a_full_disk_is_one_line_that_names_the_file(tmp_path: Path) -> None:
    bundle = Bundle.create(tmp_path / "b")
    (bundle.root / ".run.json.partial").symlink_to("/dev/full")
    with pytest.raises(BundleError, match=r"run\.json: can't be written: No space left on device\.$"):
        bundle.write("run.json", b"{}")
    assert list(bundle.root.iterdir()) == []
    (bundle.root / "agents").mkdir()
    (bundle.root / "agents" / "node0.jsonl").symlink_to("/dev/full")
    with pytest.raises(BundleError, match=r"node0\.jsonl: can't be written"):
        bundle.append("agents/node0.jsonl", b"{}")
