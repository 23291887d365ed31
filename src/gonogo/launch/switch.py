"""Inside the fabric: builds it, starts an agent on each node, and passes on what they write."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import selectors
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gonogo.agent import child
from gonogo.agent.records import Writer
from gonogo.agent.spec import Spec
from gonogo.launch.fabric import Fabric, Node

FRAMEWORK_STEPS = set(child.STEPS)
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_STDERR_BYTES = 1 << 13
_REAP_SECONDS = 1.0  # how long an orphan's zombie may stay


class Scenario:
    """What may happen to a fabric while agents run on it; this one leaves it alone. It runs in the switch."""

    def before(self, fabric: Fabric) -> None:
        """The fabric stands, no agent has started."""

    def on_record(self, fabric: Fabric, record: Mapping[str, Any]) -> None:
        """A record has been passed on."""

    def agent(self, node: Node, spec: Spec, index: int, out: int) -> int:
        """In the node, as the agent's process: run it; gives its exit code."""
        from gonogo.agent import main

        return main.run(spec, index, out)


@dataclass
class _Agent:
    node: Node
    pid: int
    out: int  # reading end of its records
    stderr: int  # a file in memory, by whose name leftover processes are known
    rest: bytes = b""  # of a line that isn't whole yet


def run(build: Callable[[], Fabric], spec: Spec, notes: list[str], scenario: Scenario | None) -> None:
    """Build, start, pass on; returns when all agents have ended. Standard output is the stream of records."""
    began = time.monotonic()
    fabric = build()
    writer = Writer(spec.run, "fabric", 1)
    for note in notes:
        writer.write("fabric", "note", text=note)
    spec = _fitted(spec, fabric)
    may_fork = not FRAMEWORK_STEPS & set(spec.steps) or _import_framework(writer)
    play = scenario or Scenario()
    play.before(fabric)
    agents = _start(fabric, spec, may_fork, play)
    writer.write(
        "fabric", "built", made_of=fabric.kind, lacks=fabric.lacks, mtu=fabric.mtu, seconds=time.monotonic() - began,
        nodes=[{"name": a.node.name, "address": a.node.address, "pid": a.pid} for a in agents],
    )  # fmt: skip
    with contextlib.suppress(BrokenPipeError):  # nobody reads any more: the end has come, if from the other side
        _relay(agents, writer, (lambda record: scenario.on_record(fabric, record)) if scenario else None)


def _fitted(spec: Spec, fabric: Fabric) -> Spec:
    """The spec as this fabric needs it: without namespaces there are no names, and one interface for all."""
    paths = spec.storage_paths or [fabric.shared]
    if fabric.kind != "loopback":
        return replace(spec, storage_paths=paths)
    environment = {f"{spec.backend.upper()}_SOCKET_IFNAME": "lo"} | spec.environment
    return replace(spec, storage_paths=paths, addresses=[n.address for n in fabric.nodes], environment=environment)


def _import_framework(writer: Writer) -> bool:
    """Import torch once for all nodes; False if it left threads behind, whose locks a forked child would inherit."""
    unset = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(unset, "1"))  # BLAS libraries start their threads when they are loaded
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of optional parts that aren't installed
        try:
            importlib.import_module("torch.distributed")
            child.preload()  # and what a step would import later, in every rank
        except ImportError as error:
            writer.write("fabric", "note", text=f"torch can't be imported: {error}.")
    for name in unset:
        del os.environ[name]
    threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    if threads > 1:
        writer.write("fabric", "note", text=f"torch started {threads - 1} threads: each rank imports it for itself.")
    return threads == 1


def _start(fabric: Fabric, spec: Spec, may_fork: bool, scenario: Scenario) -> list[_Agent]:
    import gonogo.agent.main  # noqa: F401 - once, before the fork

    agents: list[_Agent] = []
    for index, node in enumerate(fabric.nodes):
        reading, writing = os.pipe()
        stderr = os.memfd_create(f"{fabric.tag}-{node.name}")

        def body(node: Node = node, index: int = index, out: int = writing, stderr: int = stderr) -> int:
            _wire(stderr)
            for descriptor in (d for n in fabric.nodes for d in n.spaces):
                os.close(descriptor)
            for descriptor in (stderr, *(d for a in agents for d in (a.out, a.stderr))):
                os.close(descriptor)
            if not may_fork:  # what isn't imported is started afresh
                for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
                    del sys.modules[name]
            return scenario.agent(node, spec, index, out)

        pid = node.start(body)
        os.close(writing)
        os.set_blocking(reading, False)
        agents.append(_Agent(node, pid, reading, stderr))
    return agents


def _wire(stderr: int) -> None:
    """Nothing to read, and whatever prints without being asked goes to stderr: records have a descriptor of theirs."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(stderr, 1)
    os.dup2(stderr, 2)
    os.close(nothing)


def _relay(agents: list[_Agent], writer: Writer, tell: Callable[[Mapping[str, Any]], None] | None) -> None:
    """Pass on whole lines until all agents have ended."""
    selector = selectors.DefaultSelector()
    for agent in agents:
        selector.register(agent.out, selectors.EVENT_READ, agent)
        selector.register(os.pidfd_open(agent.pid), selectors.EVENT_READ, agent)
    living = {agent.pid: agent for agent in agents}
    while living:
        for key, _ in selector.select(_REAP_SECONDS):
            if key.fd == key.data.out and not _pass_on(key.data, writer, tell):
                selector.unregister(key.fd)
        for pid, code in _reap():
            if pid in living:
                agent = living.pop(pid)
                while _pass_on(agent, writer, tell):
                    pass
                _write_exit(agent, code, writer, tell)
                _forget(selector, agent)


def _forget(selector: selectors.BaseSelector, agent: _Agent) -> None:
    for key in [k for k in selector.get_map().values() if k.data is agent]:
        selector.unregister(key.fd)
        if key.fd != agent.out:
            os.close(key.fd)
    os.close(agent.out)
    os.close(agent.stderr)


def _reap() -> list[tuple[int, int]]:
    """Ids and exit codes of children that ended; the init of a PID namespace inherits everybody's orphans."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if not pid:
            return ended
        ended.append((pid, os.waitstatus_to_exitcode(status)))


def _pass_on(agent: _Agent, writer: Writer, tell: Callable[[Mapping[str, Any]], None] | None) -> bool:
    """Pass on what is there; False at the end of it, or when there is nothing now."""
    try:
        chunk = os.read(agent.out, 1 << 16)
    except BlockingIOError:
        return False
    *lines, agent.rest = (agent.rest + chunk).split(b"\n")
    for line in lines:
        writer.pass_on(line + b"\n")
        if tell:
            tell(json.loads(line))
    return bool(chunk)


def _write_exit(agent: _Agent, code: int, writer: Writer, tell: Callable[[Mapping[str, Any]], None] | None) -> None:
    size = os.fstat(agent.stderr).st_size
    said = os.pread(agent.stderr, _STDERR_BYTES, max(0, size - _STDERR_BYTES)).decode(errors="replace")
    how = {"code": code, "signal": None} if code >= 0 else {"code": None, "signal": -code}
    record = writer.write("fabric", "exit", of=agent.node.name, stderr=said, **how)
    if tell:
        tell(record)
