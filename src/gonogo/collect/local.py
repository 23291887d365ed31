"""Agents on this machine: starts the launcher, keeps what they write, and hands out each step as it ends."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

from gonogo.agent.spec import STEPS, Spec
from gonogo.collect.roll import Roll
from gonogo.documents.bundle import Bundle
from gonogo.documents.records import (
    LOGS,
    CollectivesLog,
    LinksLog,
    NodeLog,
    PortsLog,
    StepLog,
    StorageLog,
    TrainLog,
)
from gonogo.kernel import Control, Lost, Progress
from gonogo.launch.imitate import limits, shm_bytes
from gonogo.launch.spec import bound_seconds, spec_for
from gonogo.model import Level
from gonogo.plan import Plan

LAUNCHER = (sys.executable, "-P", "-m", "gonogo.launch.local")  # -P: never import from the user's folder
DEFAULT_MTU = 9001
MOST_RANKS = 32
"""Of all nodes together: each is a process with data loaders, and all of them share this machine's processors."""
_RANK_BYTES = 512 << 20
"""What a rank may take of this machine's memory, its loaders and their part of /dev/shm included; it takes half."""
_TICK_SECONDS = 0.25
_LAST_WORDS_BYTES = 1 << 16


@dataclass(frozen=True)
class LocalTarget:
    """This machine: as many nodes as processes, in namespaces where they are to be had."""

    nodes: int = 4
    level: Level = "standard"
    run: str = "local"
    kind: str = "auto"  # auto, namespaces, user-namespaces, loopback
    shm_bytes: int = 0  # size of each node's /dev/shm; 0: as the plan says
    launcher: tuple[str, ...] = LAUNCHER

    def spec(self, plan: Plan, steps: tuple[str, ...] = STEPS) -> Spec:
        """What the agents of this target are told."""
        names = [f"node{i}" for i in range(self.nodes)]
        cores = len(os.sched_getaffinity(0))  # pairs that share a core measure the scheduler, not the link
        return spec_for(plan, run=self.run, names=names, addresses=names, level=self.level, steps=steps,
                        pairs_at_once=max(1, cores // 2), ranks_per_node=self.ranks_per_node(plan))  # fmt: skip

    def ranks_per_node(self, plan: Plan) -> int:
        """As the plan says, or as many as this machine takes on each of so many nodes."""
        return min(plan.job.ranks_per_node, max(1, self.most_ranks // self.nodes))

    @property
    def most_ranks(self) -> int:
        """Of all nodes together, but for the one that each has."""
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return max(self.nodes, min(MOST_RANKS, memory_bytes // _RANK_BYTES))

    def order(self, spec: Spec, plan: Plan) -> bytes:
        """The launcher's input: one line."""
        cpus, memory_bytes = limits(plan)
        fabric = {
            "kind": self.kind,
            "mtu": plan.fabric.mtu or DEFAULT_MTU,
            "shm_bytes": self.shm_bytes or shm_bytes(plan, spec.ranks_per_node),
            "cpus": cpus,
            "memory_bytes": memory_bytes,
        }
        return json.dumps({"spec": json.loads(spec.to_json()), "fabric": fabric}).encode() + b"\n"


def steps_for(wanted: frozenset[type]) -> tuple[str, ...]:
    """The steps whose documents are wanted, and those that they rest on."""
    steps = {step for step, log in LOGS.items() if log in wanted}
    if steps - {"node"}:  # the join holds agents together: one that left after its own ports would refuse the others
        steps |= {"ports", "join"}
    return tuple(step for step in STEPS if step in steps | {"node"})


def run_agents(
    target: LocalTarget, plan: Plan, bundle: Bundle, control: Control
) -> Iterator[NodeLog | PortsLog | LinksLog | CollectivesLog | StorageLog | TrainLog | Lost]:
    """Run one agent a node, as far as documents are wanted; each document comes as soon as its step is over.

    Ends within half a second of `control.stopped`. Whatever happens, the launcher ends with this iterator.
    """
    spec = target.spec(plan, steps_for(control.wanted))
    roll = Roll(spec)
    until = min(control.deadline, time.monotonic() + bound_seconds(spec))
    with _Launcher(target.launcher, target.order(spec, plan), bundle) as launcher:
        while not roll.done() and not control.stopped.is_set():
            for line in launcher.lines(_TICK_SECONDS):
                _take(line, roll, bundle)
            if launcher.ended or time.monotonic() >= until:
                roll.lost(launcher.ended or "was cut off at the run's time limit")
            if launcher.ended and not roll.records:
                yield Lost(f"The local fabric could not be started: {launcher.last_words()}")
                return
            yield from _publish(roll, bundle, target.run)  # type: ignore[misc]
            step, through, nodes = roll.standing(time.monotonic())
            control.progress(Progress(step, through, nodes))


def _take(line: bytes, roll: Roll, bundle: Bundle) -> None:
    """A line that is no record is kept, and otherwise passed over."""
    try:
        data = json.loads(line)
        name = str(data["node"])
        if name != "fabric" and name not in roll.nodes:
            raise ValueError(name)
    except (ValueError, TypeError, KeyError):
        bundle.append("agents/stray.txt", line)
        return
    roll.take(json.loads(bundle.append(f"agents/{name}.jsonl", line)), time.monotonic())


def _publish(roll: Roll, bundle: Bundle, run: str) -> Iterator[StepLog]:
    for log in roll.ready(time.monotonic()):
        record = {"v": 1, "run": run, "node": "fabric", "t": time.time(), "step": "fabric", "kind": "over"}
        line = json.dumps(record | roll.mark(log), separators=(",", ":")).encode()
        roll.take(json.loads(bundle.append("agents/fabric.jsonl", line)), time.monotonic())
        yield log


class _Launcher:
    """The launcher as a child of its own session; its standard input is the line that it lives on."""

    def __init__(self, argv: tuple[str, ...], order: bytes, bundle: Bundle) -> None:
        self.ended = ""
        self._bundle = bundle
        self._rest = b""
        self._stderr = os.memfd_create("launcher.stderr")  # no name that could be left behind, nothing to drain
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, start_new_session=True, bufsize=0
        )
        assert self._process.stdin and self._process.stdout
        with contextlib.suppress(BrokenPipeError):  # it died already: `ended` will say so
            self._process.stdin.write(order)
        self._out = self._process.stdout.fileno()

    def __enter__(self) -> _Launcher:
        return self

    def lines(self, seconds: float) -> list[bytes]:
        """The whole lines that came within that time; sets `ended` when none will come any more."""
        if self.ended or not select.select([self._out], [], [], seconds)[0]:
            return []
        chunk = os.read(self._out, 1 << 20)
        if not chunk:
            code = self._process.wait()
            self.ended = f"the launcher was killed by signal {-code}" if code < 0 else f"the launcher ended with {code}"
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        return whole

    def last_words(self) -> str:
        """The last line that it wrote on stderr, or how it ended."""
        text = self._read_stderr().decode(errors="replace").strip()
        return text.rpartition("\n")[2] or self.ended

    def _read_stderr(self) -> bytes:
        size = os.fstat(self._stderr).st_size
        return os.pread(self._stderr, _LAST_WORDS_BYTES, max(0, size - _LAST_WORDS_BYTES))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Let go of the life line, and wait until the fabric is gone."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        if text := self._read_stderr():
            self._bundle.write("agents/fabric.stderr", text)
        os.close(self._stderr)
