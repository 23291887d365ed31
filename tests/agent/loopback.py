"""Agents as processes on loopback addresses of their own, whose records are read back.

Usage: loopback.py SPEC INDEX OUT: one agent, run in this process.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from gonogo.agent.spec import Spec

LONGEST_SECONDS = 60.0


def free_ports(count: int) -> list[int]:
    """Ports on which nothing listens at any of the loopback addresses; below those that the kernel gives out."""
    found: list[int] = []
    candidate = 12000 + os.getpid() * 7 % 18000
    while len(found) < count:
        candidate += 1
        with socket.socket() as probe:
            try:
                probe.bind(("0.0.0.0", candidate))
            except OSError:
                continue
            found.append(candidate)
    return found


def spec_of(count: int, **settings: Any) -> Spec:
    """A quick spec of so many nodes at 127.88.x.y; who is late is waited for long, unless a test shortens that."""
    rendezvous, agent, *probes = free_ports(5)
    network = f"127.{88 + os.getpid() % 100}.{os.getpid() // 100 % 250}"
    base: dict[str, Any] = {
        "run": "test", "peers": [f"node{i}" for i in range(count)],
        "addresses": [f"{network}.{i + 1}" for i in range(count)],
        "steps": ["node", "ports", "join"], "rendezvous_port": rendezvous, "agent_port": agent, "probe_ports": probes,
        "connect_seconds": 1.0, "start_seconds": 20.0, "join_seconds": 20.0, "slice_seconds": 0.1, "pairs_at_once": 1,
    }  # fmt: skip
    return Spec(**{**base, **settings})


def _pipe(end: IO[bytes] | None) -> IO[bytes]:
    assert end is not None
    return end


class Agents:
    """Running agents of one spec."""

    def __init__(self, spec: Spec, folder: Path) -> None:
        self.spec, self._folder = spec, folder
        self._file = folder / "spec.json"
        self._file.write_text(spec.to_json())
        self.processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, *indices: int, through: tuple[str, ...] = ()) -> Agents:
        """Start these agents, or all: together, however long it takes each of them to be ready."""
        started = indices or range(len(self.spec.peers))
        for index in started:
            command = [sys.executable, __file__, str(self._file), str(index), str(self._out(index))]
            self.processes[index] = subprocess.Popen(
                [*through, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        for index in started:
            _pipe(self.processes[index].stdout).readline()
        for index in started:
            with contextlib.suppress(BrokenPipeError):  # it ended, which is seen when it is waited for
                _pipe(self.processes[index].stdin).close()
        return self

    def _out(self, index: int) -> Path:
        return self._folder / f"{index}.jsonl"

    def wait(self, *indices: int) -> Agents:
        """Until these, or all, have ended well."""
        for index in indices or self.processes:
            assert self.processes[index].wait(LONGEST_SECONDS) == 0, _pipe(self.processes[index].stderr).read().decode()
        return self

    def kill(self) -> None:
        """All that still run."""
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
            _pipe(process.stdout).close()
            _pipe(process.stderr).close()

    def records(self, index: int, step: str, *kinds: str) -> list[dict[str, Any]]:
        """One agent's records of a step."""
        path = self._out(index)
        found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [r for r in found if r["step"] == step and (not kinds or r["kind"] in kinds)]

    def outcomes(self, index: int, peer: str) -> dict[int, str]:
        """What an agent's probes of a peer found, by port."""
        return {r["port"]: r["outcome"] for r in self.records(index, "ports", "probe") if r["peer"] == peer}

    def until(self, true: Callable[[], object]) -> None:
        """Wait for something to become true."""
        ends = time.monotonic() + LONGEST_SECONDS
        while not true():
            assert time.monotonic() < ends, "it never became true"
            time.sleep(0.01)


if __name__ == "__main__":
    from gonogo.agent.main import run

    _, file, number, out = sys.argv
    descriptor = os.open(out, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    print("ready", flush=True)
    sys.stdin.read()
    sys.exit(run(Spec.from_json(Path(file).read_text()), int(number), descriptor))
