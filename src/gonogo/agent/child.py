"""Runs a framework step in a child that can be killed: the agent's side watches, the child's side works.

agent ── fork, where torch is already imported, or spawn of a fresh Python ── child
  ▲  records, one pipe (descriptor 3)                                           │
  └─ output, another pipe: whatever Python and C++ print; its tail is kept ◄────┘
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import importlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import gonogo
from gonogo.agent.cgroup import oom_kills
from gonogo.agent.effort import Effort
from gonogo.agent.group import StepWriter, clean
from gonogo.agent.records import Writer
from gonogo.agent.spec import Spec

STEPS = ("collectives", "storage", "train")
TICK_SECONDS = 0.1
OUTPUT_BYTES = 4096
RECORDS_FD = 3
GRACE_SECONDS = 0.5  # between asking where it hangs, asking it to end, and killing it
READ_AT_START = ("LD_", "PYTHON", "OMP_", "MKL_", "TORCH_", "CUDA_", "FAKETIME")
"""Variables that take effect only when a process starts or torch is imported: a fork would ignore them."""

PR_SET_PDEATHSIG = 1
SOURCE = """import json, sys
job = json.load(sys.stdin)
sys.path[0] = job["path"]  # not the current directory, which may hold anything
from gonogo.agent.child import main
main(job)
"""


def preload() -> None:
    """Import what the steps need and start no thread, so that children can be forked.

    A DDP imports torch._dynamo, which takes seconds; torch imports NumPy, whose OpenBLAS starts its threads at once.
    """
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in ("torch", "torch.distributed", "torch._dynamo", "torch.utils.data", "torch.distributed.checkpoint"):
        with suppress(ImportError):
            importlib.import_module(name)
    del os.environ["OPENBLAS_NUM_THREADS"]
    if before is not None:
        os.environ["OPENBLAS_NUM_THREADS"] = before


def run_step(
    step: str,
    spec: Spec,
    rank: int,
    members: list[str],
    addresses: list[str],
    writer: Writer,
    deadline: float,
    poll: Callable[[], str] | None = None,
) -> None:
    """Run a step as this rank of the members and write its records, `exit` last, whatever becomes of the child.

    `members` are the nodes of all ranks and `addresses` theirs, in rank order; `deadline` is on time.monotonic().
    `poll` is called ten times a second; if it says why not to go on, the child is killed for that reason; if it raises,
    the child is killed, too, and the exception goes on.
    """
    if step not in STEPS:
        raise ValueError(f"no framework step {step!r}: {', '.join(STEPS)}")
    child = begin(step, spec, rank, members, addresses, writer)
    if child is None:
        return
    reason = "stopped"
    try:
        reason = child.watch(deadline, poll)
    finally:
        child.close(reason)


def begin(step: str, spec: Spec, rank: int, members: list[str], addresses: list[str], writer: Writer) -> Child | None:
    """Start one rank's child, which is to be closed; where it can't be started, that is a record."""
    try:
        return Child.start(step, spec, rank, members, addresses, writer)
    except OSError as error:
        place = place_of(rank, members)
        fate = {"code": None, "signal": None, "reason": "not started", "seconds": 0.0, "oom_kills": None, "output": ""}
        StepWriter(writer, step, phase="start", **place).error(error)
        writer.write(step, "exit", **fate, **place)
        return None


class Child:
    """A running child: its records go to the agent's writer, its output is kept to the last few KiB."""

    def __init__(self, pid: int, records_fd: int, output_fd: int, writer: Writer, step: str, **place: int) -> None:
        self.pid, self.output = pid, b""
        self._step, self._place = step, place
        self._started, self._oom_before = time.monotonic(), oom_kills()
        self.status: int | None = None  # as waitpid gives it
        self._records_fd, self._output_fd, self._writer = records_fd, output_fd, writer
        self._partial = b""
        self._effort = Effort(pid)
        self._open = {records_fd, output_fd}
        self._poll = select.poll()
        for fd in self._open:
            self._poll.register(fd, select.POLLIN)

    @classmethod
    def start(cls, step: str, spec: Spec, rank: int, members: list[str], addresses: list[str], writer: Writer) -> Child:
        """Fork or spawn; OSError if neither can be."""
        job = {
            "step": step,
            "spec": json.loads(spec.to_json()),
            "rank": rank,
            "members": members,
            "parent": os.getpid(),
            "path": str(Path(gonogo.__file__).resolve().parent.parent),  # a folder, or the agent's archive
        }
        environment = environment_of(spec, rank, members, addresses)
        (records, records_out), (output, output_out) = os.pipe(), os.pipe()
        try:
            begin = _fork if forkable(spec) else _spawn
            pid = begin(job, environment, spec.python or sys.executable, records_out, output_out)
        except OSError:
            os.close(records)
            os.close(output)
            raise
        finally:
            os.close(records_out)
            os.close(output_out)
        return cls(pid, records, output, writer, step, **place_of(rank, members))

    def watch(self, deadline: float, poll: Callable[[], str] | None) -> str:
        """Wait until it ends by itself, then "", or the deadline comes, then "deadline", or `poll` says why not to."""
        while not self.ended():
            if time.monotonic() >= deadline:
                return "deadline"
            self.pump(min(TICK_SECONDS, max(0.0, deadline - time.monotonic())))
            if poll and (why := poll()):
                return why
        return ""

    def ended(self) -> bool:
        """Whether it is dead; it is reaped then."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    def fate(self) -> dict[str, int | None]:
        """Exit code and signal; neither if even SIGKILL did not end it, as when it waits for a dead file server."""
        code = None if self.status is None else os.waitstatus_to_exitcode(self.status)
        if code is None:
            return {"code": None, "signal": None}
        return {"code": None, "signal": -code} if code < 0 else {"code": code, "signal": None}

    def pump(self, seconds: float) -> bool:
        """Take what is there within that time; False if nothing was."""
        self._effort.look()
        if not self._open:
            time.sleep(seconds)  # both pipes are closed and the child is not dead yet: nothing to select on
            return False
        ready = self._poll.poll(seconds * 1000)
        for fd, _ in ready:
            data = os.read(fd, 1 << 16)
            if not data:
                self._open.discard(fd)
                self._poll.unregister(fd)
            elif fd == self._output_fd:
                self.output = (self.output + data)[-2 * OUTPUT_BYTES :]
            else:
                *lines, self._partial = (self._partial + data).split(b"\n")
                for line in lines:
                    self._writer.adopt(line)
        return bool(ready)

    def close(self, reason: str, was_asked: bool = False) -> None:
        """End it, and write how it ended and why; at its deadline it is asked first where it hangs, unless it was."""
        self.end(ask_where=reason == "deadline" and not was_asked)
        before, after = self._oom_before, oom_kills()
        self._writer.write(
            self._step,
            "exit",
            **self._place,
            **self.fate(),
            **(self._effort.told() if reason == "deadline" else {}),
            reason=reason,
            seconds=time.monotonic() - self._started,
            oom_kills=None if before is None or after is None else after - before,
            output=clean(self.output.decode(errors="replace"), OUTPUT_BYTES),
        )

    def ask(self) -> None:
        """Have it say where it hangs, without waiting for that."""
        if not self.ended():
            os.kill(self.pid, signal.SIGUSR1)

    def end(self, ask_where: bool) -> None:
        """Kill it and what it started, unless it is dead, and take what it had still to say."""
        for number in (signal.SIGUSR1, signal.SIGTERM) if ask_where else ():
            self._signal(number)
        self._signal(signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # loader workers outlive their parent by seconds
        while self._open and self.pump(0):
            pass
        os.close(self._records_fd)
        os.close(self._output_fd)

    def _signal(self, number: int) -> None:
        """Send it, and give it a moment to take effect."""
        if self.ended():
            return
        os.kill(self.pid, number)
        until = time.monotonic() + (4 if number == signal.SIGKILL else 1) * GRACE_SECONDS
        while not self.ended() and time.monotonic() < until:
            self.pump(TICK_SECONDS / 2)


def forkable(spec: Spec) -> bool:
    """Whether a fork gives a working child: torch is imported, no thread runs, and no setting needs a fresh start."""
    return (
        "torch" in sys.modules
        and not spec.python
        and len(list(Path("/proc/self/task").iterdir())) == 1  # a lock held by another thread stays locked in a fork
        and not any(name.startswith(READ_AT_START) for name in spec.environment)
    )


def environment_of(spec: Spec, rank: int, members: list[str], addresses: list[str]) -> dict[str, str]:
    """What torchrun would set; the plan's own values win, since its job would run with them."""
    name = members[rank]
    return {
        "MASTER_ADDR": addresses[0],
        "MASTER_PORT": str(spec.rendezvous_port),
        "RANK": str(rank),
        "WORLD_SIZE": str(len(members)),
        "LOCAL_RANK": str(members[:rank].count(name)),
        "LOCAL_WORLD_SIZE": str(members.count(name)),
        "TORCH_FR_BUFFER_SIZE": "256",  # the flight recorder's memory of calls
        **spec.environment,
    }


def place_of(rank: int, members: list[str]) -> dict[str, int]:
    """The field that tells records of one node's ranks apart, where it has several."""
    return {"of_rank": rank} if members.count(members[rank]) > 1 else {}


def _fork(job: dict[str, Any], environment: dict[str, str], python: str, records: int, output: int) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setpgid(0, 0)
        gc.freeze()  # the agent's sockets must not be collected here: their numbers will be the framework's
        _own_descriptors(records, output)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        os.environ.update(environment)
        code = _work(job)
    finally:
        os._exit(code)


def _own_descriptors(records: int, output: int) -> None:
    """Keep 0 to 3 only: a connection of the agent held open here would hide from its peer that the agent closed it."""
    records, output = os.dup(records), os.dup(output)  # neither is 0 to 3 after this, whatever the agent had there
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(records, RECORDS_FD)
    for entry in list(Path("/proc/self/fd").iterdir()):
        if int(entry.name) > RECORDS_FD:
            with suppress(OSError):  # the descriptor of the listing itself is gone by now
                os.close(int(entry.name))
    sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1), os.fdopen(2, "w", buffering=1)


def _spawn(job: dict[str, Any], environment: dict[str, str], python: str, records: int, output: int) -> int:
    text = os.memfd_create("gonogo-job")  # not a pipe: a child that dies at once would break it under our pen
    try:
        os.write(text, json.dumps(job).encode())
        os.lseek(text, 0, os.SEEK_SET)
        wanted = [(text, 0), (output, 1), (output, 2), (records, RECORDS_FD)]
        actions = [(os.POSIX_SPAWN_DUP2, fd, target) for fd, target in wanted]
        arguments = [python, "-c", SOURCE]
        # Its descriptors are the ones above alone: all that Python opens are closed when another program starts.
        return os.posix_spawnp(python, arguments, {**os.environ, **environment}, file_actions=actions, setpgroup=0)
    finally:
        os.close(text)


def main(job: dict[str, Any]) -> None:
    """The spawned child."""
    os._exit(_work(job))


def _work(job: dict[str, Any]) -> int:
    """The child, forked or spawned, in its own process group; returns the exit code."""
    _die_with(job["parent"])
    faulthandler.enable(file=2)  # a crash in C++ says where, too
    faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)
    spec, members, rank = Spec.from_json(json.dumps(job["spec"])), job["members"], job["rank"]
    log = StepWriter(Writer(spec.run, members[rank], RECORDS_FD, **place_of(rank, members)), job["step"])
    try:
        importlib.import_module(f"gonogo.agent.{job['step']}").run(spec, rank, members, log)
    except Exception as error:  # noqa: BLE001 - the framework raises whatever it likes; the record is how it gets out
        log.error(error)
        return 1
    return 0


def _die_with(parent: int) -> None:
    """Be killed when the agent dies, at whatever moment."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
