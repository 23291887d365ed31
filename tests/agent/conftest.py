"""Framework steps run for real: processes on loopback, each a rank, whose records are read back."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("agents.py")
LONGEST_SECONDS = 120


class Forked:
    """A job that runs in a fork of the server: as subprocess.Popen, as far as it is used here."""

    def __init__(self, pid: int, folder: Path) -> None:
        self.pid, self._folder, self._life = pid, folder, os.pidfd_open(pid)
        self.returncode: int | None = None

    def poll(self, seconds: float = 0.0) -> int | None:
        """Its exit code, once it has ended; what was killed could write none."""
        if self.returncode is None and select.select([self._life], [], [], seconds)[0]:
            os.close(self._life)
            code = self._folder / "code"
            self.returncode = int(code.read_text()) if code.exists() else -signal.SIGKILL
        return self.returncode

    def communicate(self, timeout: float = LONGEST_SECONDS) -> tuple[bytes, None]:
        """What it printed, when it has ended."""
        if self.poll(timeout) is None:
            raise subprocess.TimeoutExpired("agents.py", timeout)
        return (self._folder / "output").read_bytes(), None


class Ranks:
    """Running ranks, and what they have written so far."""

    def __init__(self, process: subprocess.Popen[bytes] | Forked, out: Path) -> None:
        self.process, self.out = process, out

    def records(self, rank: int, *kinds: str) -> list[dict[str, Any]]:
        """A rank's records, of these kinds or all."""
        path = self.out / f"{rank}.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        found = [json.loads(line) for line in lines if line]
        return [record for record in found if not kinds or record["kind"] in kinds]

    def one(self, rank: int, kind: str) -> dict[str, Any]:
        """The only record of that kind."""
        (record,) = self.records(rank, kind)
        return record

    def child(self, rank: int) -> int:
        """The process id of a rank's framework child."""
        agent = descendants(self.process.pid)[rank]
        (child,) = descendants(agent)
        return child

    def until(self, true: Callable[[], object]) -> Any:
        """Wait for something to become true."""
        ends = time.monotonic() + LONGEST_SECONDS
        while not (found := true()):
            assert time.monotonic() < ends, "it never became true"
            assert self.process.poll() is None, self.process.communicate()[0].decode()
            time.sleep(0.01)
        return found

    def pass_deadline(self) -> None:
        """From now on the deadlines of all ranks are over."""
        (self.out / "late").touch()

    def wait(self) -> Ranks:
        """Until all have ended."""
        output, _ = self.process.communicate(timeout=LONGEST_SECONDS)
        assert self.process.returncode == 0, output.decode()
        return self


def descendants(pid: int) -> list[int]:
    """The children of a process, oldest first."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def free_port() -> int:
    """A port on which nothing listens; not one of those that the kernel gives to whoever connects meanwhile."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", random.SystemRandom().randrange(12000, 32000)))
            return int(probe.getsockname()[1])


Start = Callable[..., Ranks]


@pytest.fixture(scope="session")
def server() -> Iterator[subprocess.Popen[str]]:
    """Has torch imported, which takes seconds, and forks for each job."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, str(SCRIPT)], stdin=pipe, stdout=pipe, text=True) as process:
        yield process


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Start]:
    """start(step, count, **settings) starts that many ranks; settings of the job or of the spec.

    Unless they `fork`, each rank imports torch for itself.
    """
    if not importlib.util.find_spec("torch"):
        missing = "torch is not installed: pip install gonogo[torch]"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    running: list[Ranks] = []

    def begin(step: str, count: int, fork: bool = True, **settings: Any) -> Ranks:
        out = tmp_path_factory.mktemp(step)
        names = [f"node{i}" for i in range(count)]
        job = {
            "step": step,
            "out": str(out),
            **{k: settings.pop(k) for k in ("started", "path", "patch") if k in settings},
        }
        base = {"run": "test", "peers": names, "addresses": ["127.0.0.1"] * count, "rendezvous_port": free_port()}
        job["spec"] = {**base, "level": "quick", "sizes": [1024, 65536], "framework_seconds": 10.0, **settings}
        file = out / "job.json"
        file.write_text(json.dumps(job))
        process = _fork(request.getfixturevalue("server"), file) if fork else _spawn(file)
        running.append(Ranks(process, out))
        return running[-1]

    yield begin
    for ranks in running:
        if ranks.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(ranks.process.pid, signal.SIGKILL)
            ranks.process.communicate()
        shutil.rmtree(ranks.out, ignore_errors=True)


def _fork(server: subprocess.Popen[str], file: Path) -> Forked:
    assert server.stdin and server.stdout
    server.stdin.write(f"{file}\n")
    server.stdin.flush()
    return Forked(int(server.stdout.readline()), file.parent)


def _spawn(file: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(SCRIPT), str(file)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
    )


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """agents(count, **settings of the spec) makes whole agents on loopback addresses; see loopback.py."""
    path = Path(__file__).with_name("loopback.py")
    spec = importlib.util.spec_from_file_location("gonogo_tests_loopback", path)
    assert spec is not None and spec.loader is not None
    loopback = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loopback)
    made: list[Any] = []

    def make(count: int, **settings: Any) -> Any:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(loopback.Agents(loopback.spec_of(count, **settings), folder))
        return made[-1]

    yield make
    for agents in made:
        agents.kill()
