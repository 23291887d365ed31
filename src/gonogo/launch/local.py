"""The program that runs agents on this machine: `python -m gonogo.launch.local`.

    caller ── guard (this program) ── switch ── agents

Standard input carries one line, {"spec": …, "fabric": {kind, mtu, shm_bytes}}, and is then the life line: at its end,
however the caller ended, everything ends. Standard output carries the records of all nodes.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import NoReturn

from gonogo.agent.spec import Spec
from gonogo.launch import fabric, leftovers, loopback, namespaces, switch

_MAX_ORDER_BYTES = 1 << 24


def main(scenario: switch.Scenario | None = None) -> int:
    """Run the order on standard input; 0 when all agents have ended, 1 if the fabric could not be built."""
    order = json.loads(_first_line(0))
    spec, shape = Spec.from_json(json.dumps(order["spec"])), fabric.Shape(**order["fabric"])
    with contextlib.suppress(PermissionError):  # a process that leads a session already
        os.setsid()
    namespaces.set_name("gonogo:guard")
    namespaces.adopt_orphans()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _end)
    kind, notes = _choose(shape)
    try:
        return _guard(_fork_switch(kind, shape, spec, notes, scenario))
    finally:
        loopback.end_children()
        leftovers.remove_of(leftovers.tag())


def _end(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def _first_line(descriptor: int) -> bytes:
    """Read no further than the newline; what follows is the life line's."""
    line = b""
    while not line.endswith(b"\n"):
        chunk = os.read(descriptor, 1 << 16)
        if not chunk or len(line) > _MAX_ORDER_BYTES:
            raise ValueError("standard input must begin with one line of JSON")
        line += chunk
    return line


def _choose(shape: fabric.Shape) -> tuple[str, list[str]]:
    """The best kind of fabric that can be had here, and why better ones can't."""
    notes: list[str] = []
    for kind in fabric.KINDS if shape.kind == "auto" else [shape.kind]:
        if kind == "namespaces" and os.geteuid() != 0 and shape.kind == "auto":
            continue  # for root only; a user namespace proves as much
        if kind == "loopback":
            return kind, [*notes, loopback.NOTE]
        if not (reason := fabric.why_not(kind, shape)):
            return kind, notes
        notes.append(f"A fabric of {kind.replace('-', ' ')} can't be had here: {reason}.")
    raise fabric.FabricError(" ".join(notes))


def _fork_switch(kind: str, shape: fabric.Shape, spec: Spec, notes: list[str], scenario: switch.Scenario | None) -> int:
    guard_lives, life = os.pipe()
    tag = leftovers.tag()
    if kind != "loopback":
        fabric.enter_new_namespaces(kind)

    def body() -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.close(life)
        if select.select([guard_lives], [], [], 0)[0]:  # the guard died before this process asked to die with it
            return
        count = len(spec.peers)
        if kind == "loopback":
            scratch = Path(tempfile.mkdtemp(prefix=f"{tag}-"))
            switch.run(functools.partial(loopback.build, count, scratch, tag), spec, notes, scenario)
        else:
            fabric.leave_the_machine()
            switch.run(functools.partial(fabric.build, count, shape, kind, tag), spec, notes, scenario)

    pid = fabric.fork(body, "gonogo:switch")
    os.close(guard_lives)
    return pid  # `life` stays open for as long as this process lives


def _guard(pid: int) -> int:
    """Wait for the end of the switch or of the caller, whichever comes first."""
    ended = os.pidfd_open(pid)
    while True:
        ready = select.select([0, ended], [], [])[0]
        if ended in ready:
            return abs(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        if not os.read(0, 1 << 16):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)  # returns when the whole PID namespace has ended
            return 0


if __name__ == "__main__":
    sys.exit(main())
