"""Streams, disks and shells as tired users have them: one clear line, the right exit code, no traceback."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gonogo.cli.verify import again
from gonogo.model import Status, Verdict

GONOGO = f"{sys.executable} -m gonogo.cli"
BUNDLE = Path(__file__).parent.parent / "bundles" / "only-rendezvous-port"  # a NO-GO
GO = Path(__file__).parent.parent / "bundles" / "healthy-4"


def shell(
    line: str, stdin: bytes = b"", cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash in which `gonogo`, BUNDLE and GO stand for themselves."""
    script = f'set -o pipefail; gonogo() {{ {GONOGO} "$@"; }}; BUNDLE={BUNDLE}; GO={GO}; {line}'
    done = subprocess.run(
        ["bash", "-c", script],
        input=stdin,
        capture_output=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, **environment},
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    assert b"Exception ignored" not in done.stderr, done.stderr.decode()
    return done


@pytest.mark.parametrize("stream", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "| true", "| head -1", "2>/dev/full"])
def test_the_exit_code_is_the_verdict_s_whoever_listens(stream: str) -> None:
    assert shell(f"gonogo verify --from $BUNDLE {stream}").returncode == 1
    assert shell(f"gonogo nope {stream}").returncode == 2


@pytest.mark.parametrize(("command", "code"), [("verify", 3), ("diagnose x", 3), ("verify --help", 0), ("", 0)])
def test_a_pipe_that_breaks_anywhere_is_no_go(command: str, code: int) -> None:
    program = """import sys
from gonogo.cli import app
def broken(argv):
    raise BrokenPipeError
app.build = lambda name: broken
sys.exit(app.run(sys.argv[1:]))
"""
    done = subprocess.run([sys.executable, "-c", program, *command.split()], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.parametrize("command", ["--help", "verify --help", "explain --list", "verify --from $GO", "demo -o json"])
def test_a_full_disk_is_one_line_and_no_success(command: str) -> None:
    done = shell(f"gonogo {command} >/dev/full")
    assert done.returncode == 3
    assert b"can't be written: No space left on device." in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("flag", ["--junit", "--markdown"])
def test_a_report_that_cannot_be_kept_is_still_printed(flag: str) -> None:
    done = shell(f"gonogo verify --from $GO {flag} /dev/full")
    assert done.returncode == 3
    assert b"GO, this machine only" in done.stdout
    assert done.stderr == b"/dev/full: can't be written: No space left on device.\n"
    assert shell(f"gonogo verify --from $BUNDLE {flag} /dev/full").returncode == 1


def test_a_refused_command_leaves_no_empty_report(tmp_path: Path) -> None:
    assert shell(f"gonogo verify --junit {tmp_path}/out.xml --from /none").returncode == 2
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out.xml").write_text("mine")
    assert shell(f"gonogo verify --junit {tmp_path}/out.xml --from /none").returncode == 2
    assert (tmp_path / "out.xml").read_text() == "mine"


@pytest.mark.parametrize(
    "command",
    ["verify --bundle ''", "verify --bundle=", "verify -f ''", "verify --from ''", "diagnose ''", "collect ''",
     "verify --junit ''", "catalog ''", "''"],
)  # fmt: skip
def test_an_empty_argument_is_a_forgotten_variable_and_no_path(command: str, tmp_path: Path) -> None:
    done = shell(f"gonogo {command}", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith(b" is empty: expected a value.\n")
    assert list(tmp_path.iterdir()) == []


def test_a_plan_is_read_from_stdin_whole_or_not_at_all() -> None:
    assert b"<stdin>:1:2: unknown key" in shell("gonogo verify -f - --nodes 1", b"{foo: 1}").stderr
    assert b"<stdin>: is larger than 1 MiB" in shell("gonogo verify -f -", b"#" * (1 << 20) + b"\nfoo: 1").stderr
    done = shell("gonogo verify -f --nodes 1")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)


@pytest.mark.parametrize("columns", ["", "0", "20", "-3", "\u00b2", "\u0664\u0664", "9" * 5000, "1e3"])
def test_any_columns_are_borne(columns: str) -> None:
    assert shell("gonogo verify --from $BUNDLE", COLUMNS=columns).returncode == 1


@pytest.mark.parametrize("seed", range(12))
def test_no_loss_makes_a_fault_of_a_bundle_in_which_all_was_well(seed: int, tmp_path: Path) -> None:
    """Files that are gone, cut off, or without their head or some lines in the middle."""
    chance = random.Random(seed)
    bundle = shutil.copytree(GO, tmp_path / "b")
    files = sorted(bundle.glob("agents/*.jsonl"))
    for path in chance.sample(files, chance.randint(1, 3)):
        lines = path.read_bytes().splitlines(keepends=True)
        begin, end = sorted(chance.choices(range(len(lines) + 1), k=2))
        path.write_bytes(b"".join(lines[:begin] + lines[end + 1 :])[: -chance.randint(1, 9)])
    if seed % 3 == 0:
        chance.choice(files).unlink()
    report = again(bundle, None, [], [])
    assert {f.check for f in report.findings if f.status is Status.FAIL} == set()
    assert report.diagnoses == ()
    assert report.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("command", ["verify --from $GO", "explain LNK001", "catalog", "cleanup", "demo"])
def test_a_folder_that_is_gone_is_no_place_to_trip_over(command: str, tmp_path: Path) -> None:
    done = shell(f"mkdir {tmp_path}/x; cd {tmp_path}/x; rmdir ../x; gonogo {command}", XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 0


@pytest.mark.parametrize(
    "command", ["verify --from", "verify -f", "diagnose", "verify --bundle /proc/", "verify --like"]
)
def test_no_error_has_what_a_terminal_would_act_on(command: str) -> None:
    done = shell(f"gonogo {command} $'a\\e[31m\\nb\\x07'")
    assert done.returncode == 2
    assert all(text.decode().isprintable() for text in done.stderr.splitlines()), done.stderr


def test_collect_is_refused_at_once_where_it_could_not_write(tmp_path: Path) -> None:
    for place in ("/proc/x.tar.gz", f"{tmp_path}/none/x.tar.gz"):
        done = shell(f"gonogo collect {place}")
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
    gone = shell(f"mkdir {tmp_path}/x; cd {tmp_path}/x; rmdir ../x; gonogo collect x.tar.gz")
    assert (gone.returncode, gone.stderr.count(b"\n")) == (2, 1)


def test_ctrl_c_while_modules_are_read_is_no_traceback() -> None:
    program = """import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "cyclopts":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Stop())
sys.argv = ["gonogo", "verify"]
from gonogo.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be a user that /etc/passwd doesn't know")
def test_a_user_without_a_home_can_verify_and_diagnose() -> None:
    """Pods may run as such: what needs a home lands in the temporary folder, or isn't there."""
    nobody = "import os, sys; os.setgid(54321); os.setuid(54321); os.environ.pop('HOME'); from pathlib import Path;"
    for code, words in (
        (
            "from gonogo.documents.bundle import default_root; print(default_root('abc123', 0.0))",
            "gonogo-bundle-abc123-",
        ),
        ("from gonogo.documents.bundle import prune; print(prune(0.0))", "[]"),
        ("from gonogo.target import kube_context; print(repr(kube_context()))", "''"),
        ("from gonogo.clients import kubeconfig; print(kubeconfig.files())", "~/.kube/config"),
    ):
        clean = {k: v for k, v in os.environ.items() if k not in ("XDG_STATE_HOME", "KUBECONFIG")}
        program = [sys.executable, "-c", f"{code.partition(';')[0]}; {nobody} {code.partition(';')[2]}"]
        done = subprocess.run(program, capture_output=True, text=True, env={"HOME": "/", **clean})
        assert words in done.stdout, done.stderr
        if words.startswith("gonogo-bundle"):
            Path(done.stdout.strip()).rmdir()
