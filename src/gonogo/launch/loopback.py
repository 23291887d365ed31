"""Nodes where namespaces are not to be had: plain processes, each on a loopback address of its own."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from gonogo.launch.fabric import Fabric, Node, keep_temporary_files_in

NOTE = (
    "Nodes are processes on loopback addresses: host names, MTU, /dev/shm and what a firewall does between nodes "
    "can't be proven so."
)


class LoopbackNode(Node):
    """A node without namespaces: entering it changes nothing but where its temporary files go."""

    def enter(self) -> None:
        keep_temporary_files_in(self.scratch)


def build(count: int, scratch: Path, tag: str) -> Fabric:
    """Nodes on addresses that another run is unlikely to use, with folders below one that the caller removes."""
    subnet = f"127.{77 + os.getpid() // 250 % 100}.{os.getpid() % 250 + 1}"
    nodes: list[Node] = []
    for i in range(count):
        folder = scratch / f"node{i}"
        folder.mkdir()
        nodes.append(LoopbackNode(f"node{i}", f"{subnet}.{i + 1}", scratch=str(folder)))
    shared, temporary = scratch / "shared", scratch / "tmp"
    shared.mkdir()
    temporary.mkdir()
    keep_temporary_files_in(str(temporary))
    return Fabric("loopback", int(Path("/sys/class/net/lo/mtu").read_text()), nodes, str(shared), tag)


def end_children() -> None:
    """Kill all descendants of this process, which must have adopted its orphans, and wait for them."""
    while True:
        for pid in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def _children() -> list[int]:
    return [int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()]
