"""What a command loads before it answers: on a small log, that is most of the time it takes."""

import subprocess
import sys

import pytest

THAT_TELLS = """
import sys
from gonogo.cli.app import run
run(sys.argv[1:])
print()
print(*sys.modules)
"""
COMMAND_LINE = {"cyclopts", "attr", "attrs"}
HELP = {*COMMAND_LINE, "docstring_parser", "rich"}
LOG = """\
[rank0]:[W1130 08:00:00.000000 socket.cpp:752] [c10d] The client socket has timed out after 60s while trying to \
connect to (10.0.0.17, 29500).
"""


def loaded(*argv):
    """The modules of a process that ran one command line."""
    child = subprocess.run([sys.executable, "-c", THAT_TELLS, *argv], capture_output=True, text=True, timeout=60)
    assert child.returncode == 0, child.stderr
    return set(child.stdout.splitlines()[-1].split())


def foreign(modules):
    """Packages of third parties; what an installation itself loads at the start of every Python is not ours."""
    bare = subprocess.run([sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True)
    heads = {name.partition(".")[0] for name in modules - set(bare.stdout.split())}
    return heads - sys.stdlib_module_names - {"gonogo"}


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(LOG)
    return str(path)


def test_diagnose_loads_of_others_only_what_reads_flags_and_finds_anchors(log):
    assert foreign(loaded("diagnose", log)) == {*COMMAND_LINE, "ahocorasick_rs"}


def test_diagnose_loads_of_ours_no_checks_no_plan_and_nothing_that_does_io_but_on_files(log):
    mine = {name.split(".")[1] for name in loaded("diagnose", log) if name.startswith("gonogo.")}
    assert mine == {
        "causes", "cli", "data", "diagnose", "documents", "errors", "facts", "kernel", "model", "registry", "report",
    }  # fmt: skip


def test_diagnose_of_a_log_loads_no_reader_of_objects_and_no_facts_of_agents(log):
    assert not loaded("diagnose", log) & {
        "gonogo.documents.structured", "gonogo.documents.writings", "gonogo.facts.nodes", "asyncio", "ssl",
    }  # fmt: skip


def test_objects_are_read_by_what_the_first_of_them_loads(tmp_path):
    """The same question of a file that holds one: so the ones above can fail."""
    path = tmp_path / "pod.yaml"
    path.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: train-0}\n")
    assert {"yaml", "gonogo.documents.structured"} <= loaded("diagnose", str(path))


@pytest.mark.parametrize("argv", [("version",), ("--help",), ("diagnose", "--help"), ("catalog", "p5")])
def test_what_reads_nothing_loads_little_more_than_the_command_line(argv):
    modules = loaded(*argv)
    assert foreign(modules) <= (HELP if "--help" in argv else COMMAND_LINE)
    assert not [name for name in modules if name.startswith(("gonogo.causes", "gonogo.facts", "gonogo.kernel"))]


@pytest.mark.parametrize("id", ["NET001", "pod.oom_killed"])
def test_a_page_is_told_without_the_others(id):
    steps = [name for name in loaded("explain", id) if name.count(".") == 3 and name.startswith("gonogo.c")]
    assert 0 < len(steps) < 30
