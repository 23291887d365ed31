"""The command line as its users meet it: real processes, their streams and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from gonogo.cli.app import COMMANDS

GONOGO = [sys.executable, "-m", "gonogo.cli"]


def gonogo(*argv: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a pipe, with a home of nobody's."""
    return subprocess.run(
        [*GONOGO, *map(str, argv)], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONUTF8": "1", **environment},
    )  # fmt: skip


USAGE = {
    "verfy": 'Unknown command "verfy". Did you mean "verify"?',
    "verify --nods 3": "Did you mean --nodes?",
    "verify --nodes 0": "--nodes. Must be >= 1",
    "verify --nodes 17": "--nodes: must be <= 16",
    "verify --nodes four": "--nodes",
    "verify --level standart": 'Did you mean "standard"?',
    "verify --level read": "this machine has none",
    "verify --only lnik": 'no check, area or glob matches "lnik". Did you mean "link"?',
    "verify --only LNK9*": "no check, area or glob matches",
    "verify --skip COL999=why": "no check, area or glob matches",
    "verify --skip *": "No check is left",
    "verify --timeout 5": "expected a duration such as 30s or 5m",
    "verify --timeout \u0663s": "expected a duration such as 30s or 5m",
    "verify --skip =why": '--skip: "=why" names no check, area or glob.',
    "verify --skip ,=why": '--skip: ",=why" names no check, area or glob.',
    "verify --timeout 0s": "expected a duration such as 30s or 5m",
    "verify -o jsn": 'Did you mean "json"?',
    "verify --fail-on nothing": "--fail-on",
    "verify --junit /none/there.xml": "/none/there.xml: can't be written",
    "verify --junit /": "can't be written",
    "verify -f /none/plan.yaml": "/none/plan.yaml: can't be read: No such file or directory.",
    "verify --from /none/bundle": "/none/bundle: can't be read: No such file or directory.",
    "verify --from / --nodes 3": "--nodes can't be used with --from",
    "verify --from / --dry-run client": "--dry-run can't be used with --from",
    "verify --html out.html": "Unknown option: --html",
    "verify extra": "extra",
    "verify --bundle /": "the folder isn't empty",
    "collect": "DESTINATION",
    "collect /none/there/x.tar.gz": "expected a new file in a folder that is there",
    "explain": "expected one of an id, --list and --schema",
    "explain LNK999": 'is called "LNK999"',
    "explain network.port_bloked": 'Did you mean "network.port_blocked"?',
    "permissions -n A_b": 'DNS label, found "A_b"',
    "catalog p4d.24xlage": 'Did you mean "p4d.24xlarge"?',
    "catalog m5.large": '"m5.large" is no instance type of the catalog, which has those with accelerators or EFA.',
    "explain --schema plam": 'Did you mean "plan"?',
    "version now": 'Unknown argument: "now".',
    "verify --on\x1b[31mly": "Unknown option: --on\\x1b[31mly.",
    "ver\x1bify": 'Unknown command "ver\\x1bify".',
}


@pytest.mark.parametrize("line", USAGE)
def test_wrong_usage_is_one_line_on_stderr_and_exit_2(line: str) -> None:
    done = gonogo(*line.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert USAGE[line] in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_wrong_plan_is_one_line_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("nodes:\n  cuont: 4\n")
    done = gonogo("verify", "-f", tmp_path / "plan.yaml")
    assert done.returncode == 2
    assert done.stderr == f'gonogo: {tmp_path}/plan.yaml:2:3: unknown key "nodes.cuont". Did you mean "count"?\n'


def test_a_hostile_archive_is_one_line(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        archive.add("/etc/hostname", "../../../tmp/run.json")
    done = gonogo("verify", "--from", tmp_path / "b.tar.gz")
    assert done.returncode == 2
    assert "leads out of it" in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_names_every_command_with_examples() -> None:
    done = gonogo("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for command, (_, examples) in COMMANDS.items():
        assert f"\n  {command} " in done.stdout
        text = gonogo(command, "--help").stdout
        assert (
            "Examples:\n" + "".join(f"  {line}\n" for line in examples.splitlines()) in text
        )  # to be copied: unbroken
        assert "Exit codes: 0 " in text
        assert all(len(line) <= 80 for line in text.splitlines())
    assert gonogo().stdout == done.stdout


def test_as_a_plugin_of_kubectl_usage_begins_with_kubectl() -> None:
    program = (
        "import sys; sys.argv = ['/usr/bin/kubectl-gonogo', 'verify', '--help']; from gonogo.cli import main; main()"
    )
    text = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
    assert text.startswith("Usage: kubectl gonogo verify")
    assert "\n  kubectl gonogo verify --from bundle/" in text


def test_a_page_is_printed_and_is_the_docstring() -> None:
    text = gonogo("explain", "net001").stdout
    assert text.startswith("# NET001: ")
    for section in ("## Why it matters", "## Usual causes", "## Fix", "## Source"):
        assert f"\n{section}\n" in text


def test_lists_name_every_check_and_cause() -> None:
    everything = json.loads(gonogo("explain", "--list", "-o", "json").stdout)
    names = gonogo("explain", "--list", "-o", "name").stdout.split()
    assert names == [f"{entry['kind']}/{entry['id']}" for entry in everything]
    assert {"check/NET001", "cause/network.port_blocked"} <= set(names)
    assert "signature/c10d.connect_timeout" in names
    table = gonogo("explain", "--list").stdout
    assert all(entry["title"] in table for entry in everything)
    assert gonogo("explain", "network").stdout.count("NET0") >= 2


def test_a_signature_says_what_it_is_and_which_causes_look_for_it() -> None:
    page = gonogo("explain", "c10d.connect_timeout").stdout
    assert page.startswith("# c10d.connect_timeout: No answer from the rendezvous store")
    for line in ("- `client socket has timed out after`", "- network.port_blocked", "- network.nacl_blocks"):
        assert f"\n{line}\n" in page
    assert "cascade: " in page and page.endswith("/issues/76287\n")
    assert gonogo("explain", "image.not_found").stdout != gonogo("explain", "signature/image.not_found").stdout


def test_an_area_is_also_what_its_ids_begin_with() -> None:
    assert gonogo("explain", "STO").stdout == gonogo("explain", "storage").stdout != ""


def test_a_line_of_a_log_is_explained() -> None:
    line = (
        "[W socket.cpp:436] [c10d] The client socket has timed out after 60000ms while trying to connect to (a, 29500)."
    )
    assert gonogo("explain", line).stdout.startswith("# c10d.connect_timeout: ")
    assert gonogo("explain", "a line that says nothing").returncode == 2


def test_pages_outlive_an_interpreter_that_drops_docstrings() -> None:
    for id in ("LNK001", "network.port_blocked"):
        page = subprocess.run([sys.executable, "-OO", *GONOGO[1:], "explain", id], capture_output=True, text=True)
        assert page.stdout == gonogo("explain", id).stdout


def test_schemas_are_printed() -> None:
    assert json.loads(gonogo("explain", "--schema", "plan").stdout)["title"] == "gonogo plan"
    assert json.loads(gonogo("explain", "--schema", "report").stdout)["title"] == "gonogo report"


def test_a_reader_that_leaves_early_is_no_error() -> None:
    line = f"{' '.join(GONOGO)} explain --schema report | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_version_in_words_and_for_programs() -> None:
    version = json.loads(gonogo("version", "-o", "json").stdout)["gonogo"]
    assert gonogo("version").stdout == f"gonogo {version}\n"
    assert gonogo("--version").stdout == f"{version}\n"
