import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from gonogo.launch import leftovers


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A machine of its own to look at: no other's folders, control groups or processes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(leftovers, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(leftovers, "_orphans", lambda: iter(()))
    return tmp_path


@pytest.fixture
def dead():
    """The tag of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        return leftovers.tag(process.pid)


def test_what_the_dead_left_is_removed_and_told(temporary, dead):
    (temporary / f"{dead}-x" / "node0").mkdir(parents=True)
    (temporary / "cgroup" / "cpu" / f"{dead}-node0").mkdir(parents=True)
    removed = leftovers.remove_dead()
    assert sorted(Path(path).name for path in removed) == [f"{dead}-node0", f"{dead}-x"]
    assert not list(temporary.glob("gonogo-*")) and not list(temporary.glob("cgroup/cpu/*"))
    assert leftovers.remove_dead() == []


def test_what_the_living_use_stays(temporary):
    mine = temporary / f"{leftovers.tag()}-x"
    mine.mkdir()
    assert leftovers.remove_dead() == []
    assert leftovers.remove_of(leftovers.tag()) == [str(mine)]


def test_a_reused_process_id_does_not_protect_what_another_left(temporary):
    namespace, pid, ticks = leftovers.tag().removeprefix("gonogo-").split("-")
    (temporary / f"gonogo-{namespace}-{pid}-{int(ticks) + 1}").mkdir()
    assert len(leftovers.remove_dead()) == 1


def test_other_containers_and_other_peoples_things_stay(temporary, dead):
    namespace, pid, ticks = dead.removeprefix("gonogo-").split("-")
    (temporary / f"gonogo-{int(namespace) + 1}-{pid}-{ticks}").mkdir()
    (temporary / "gonogo-runs").mkdir()
    (temporary / dead).write_text("a file")
    (temporary / "precious").mkdir()
    (temporary / f"{dead}-link").symlink_to(temporary / "precious")
    assert leftovers.remove_dead() == []
    assert len(list(temporary.iterdir())) == 5
