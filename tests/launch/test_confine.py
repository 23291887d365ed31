"""What is written to control groups of either version; whether the kernel keeps it is test_local's to see."""

import pytest

from gonogo.launch import confine


@pytest.fixture
def mounted(tmp_path, monkeypatch):
    monkeypatch.setattr(confine, "CGROUPS", tmp_path)
    return tmp_path


def test_version_2_has_one_group_for_all_limits(mounted):
    (mounted / "cgroup.controllers").write_text("cpu memory")
    assert confine.confine("g", 1.5, 1 << 30) == [str(mounted / "g")]
    assert (mounted / "g/cpu.max").read_text() == "150000 100000"
    assert (mounted / "g/memory.max").read_text() == str(1 << 30)


def test_version_1_has_one_for_each(mounted):
    for controller in ("cpu", "memory"):
        (mounted / controller).mkdir()
    made = confine.confine("g", 0.001, 1 << 30)
    assert made == [str(mounted / "cpu/g"), str(mounted / "memory/g")]
    assert (mounted / "cpu/g/cpu.cfs_quota_us").read_text() == "1000"  # the least that the kernel takes
    assert (mounted / "memory/g/memory.limit_in_bytes").read_text() == str(1 << 30)


def test_no_limit_makes_nothing(mounted):
    assert confine.confine("g", 0.0, 0) == [] and not list(mounted.iterdir())


def test_a_process_enters_all_groups(mounted):
    folders = [str(mounted / name) for name in "ab"]
    for name in "ab":
        (mounted / name).mkdir()
    confine.enter(folders)
    assert [(mounted / name / "cgroup.procs").read_text() for name in "ab"] == ["0", "0"]
