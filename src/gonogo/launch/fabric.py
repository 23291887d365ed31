"""A fabric of nodes on one machine: network namespaces on a bridge that nothing but this process keeps alive.

    guard ── switch (init of a PID namespace; its network namespace holds the bridge)
               ├─ agent of node0 ...   each enters the four namespaces of its node,
               └─ agent of node1 ...   which nothing but open descriptors keeps alive

No namespace has a name and no file is written outside of them, so there is nothing to leave behind: when the switch
ends, the kernel ends its PID namespace, and with the last descriptor go namespaces, links and mounts.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from gonogo.launch import confine
from gonogo.launch import namespaces as ns

KINDS = ("namespaces", "user-namespaces", "loopback")
"""What a fabric can be made of, best first."""

INTERFACE = "eth0"
"""What each node's interface is called."""

_SPACES = ("net", "uts", "ipc", "mnt")
_MOUNT_POINTS = ("/mnt", "/media", "/srv", "/run")


class FabricError(Exception):
    """The fabric can't be built here; the text says why."""


@dataclass(frozen=True)
class Shape:
    """What to build."""

    kind: str = "auto"  # or one of KINDS
    mtu: int = 9001
    shm_bytes: int = 1 << 30  # of each node's /dev/shm
    cpus: float = 0.0  # whose time each node may use; 0: no limit
    memory_bytes: int = 0  # that each node may use; 0: no limit


@dataclass
class Node:
    """A node: its namespaces, held open. It outlives its processes, so that its kernel still answers for them."""

    name: str
    address: str
    port: str = ""  # its end of the cable at the switch
    spaces: list[int] = field(default_factory=list)  # descriptors
    scratch: str = ""  # a folder of its own
    groups: list[str] = field(default_factory=list)  # folders of its control groups

    def enter(self) -> None:
        """Move this process, which has one thread, into the node."""
        confine.enter(self.groups)
        for descriptor in self.spaces:
            ns.enter(descriptor)
        keep_temporary_files_in(f"{self.scratch}/tmp")

    def start(self, body: Callable[[], int | None], name: str = "") -> int:
        """Fork a process that runs body() in the node and ends with what it returns; gives its id."""

        def inside() -> int | None:
            self.enter()
            return body()

        return fork(inside, name or f"gonogo:{self.name}")


@dataclass
class Fabric:
    """The nodes and the switch between them."""

    kind: str
    mtu: int
    nodes: list[Node]
    shared: str  # a folder that all nodes share
    tag: str  # begins the name of whatever is made with one: the guard removes it
    lacks: list[str] = field(default_factory=list)  # what of its shape can't be had here

    def node(self, name: str) -> Node:
        """The node of that name."""
        return next(n for n in self.nodes if n.name == name)


def keep_temporary_files_in(folder: str) -> None:
    """So that they go with the fabric."""
    os.environ["TMPDIR"] = folder
    tempfile.tempdir = None  # it may know another one by now


def fork(body: Callable[[], int | None], name: str) -> int:
    """Fork a process that dies with this one and ends with what body() returns; a traceback goes to its stderr."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        ns.die_with_parent()
        ns.set_name(name)
        code = body() or 0
    except BaseException:  # noqa: BLE001 - a forked child must never run on in its parent's frames
        traceback.print_exc()
    finally:
        leave(code)


def leave(code: int) -> NoReturn:
    """End this forked process without running its parent's exit handlers."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def build(count: int, shape: Shape, kind: str, tag: str = "") -> Fabric:
    """Build a fabric in this process, the init of new namespaces. Raises FabricError or OSError."""
    ns.keep_mounts_private()
    ns.mount("proc", "/proc")
    root = _mount_point()
    ns.mount("tmpfs", root, "mode=755")
    if Path("/run/nscd").is_dir() and root != "/run":  # it would answer with the machine's names
        ns.mount("tmpfs", "/run/nscd")
    for folder in ("node", "shared", "tmp"):
        Path(root, folder).mkdir()
    ip(["link set lo up", f"link add br0 mtu {shape.mtu} type bridge", "link set br0 up"])
    addresses = {f"node{i}": f"10.77.0.{i + 1}" for i in range(count)}
    hosts = "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in addresses.items())
    keep_temporary_files_in(f"{root}/tmp")
    nodes = [
        _build_node(Node(name, address, f"port{i}", scratch=f"{root}/node"), hosts, shape)
        for i, (name, address) in enumerate(addresses.items())
    ]
    made = Fabric(kind, shape.mtu, nodes, f"{root}/shared", tag)
    if tag and (shape.cpus or shape.memory_bytes):
        _confine(made, shape)
    return made


def _confine(made: Fabric, shape: Shape) -> None:
    try:
        for node in made.nodes:
            node.groups = confine.confine(f"{made.tag}-{node.name}", shape.cpus, shape.memory_bytes)
    except OSError as error:
        for node in made.nodes:
            node.groups = []
        made.lacks.append(
            f"the limits of CPU and memory: control groups can't be made here ({error.strerror or error})"
        )


def _build_node(node: Node, hosts: str, shape: Shape) -> Node:
    ours, theirs = socket.socketpair()

    def born() -> None:
        try:
            _furnish(node, hosts, shape)
        except (OSError, FabricError) as error:
            theirs.send(str(error).encode())
        else:
            theirs.send(b"ready")
            theirs.recv(1)  # until the descriptors are open

    pid = fork(born, "gonogo:build")
    with ours, theirs:
        if (word := ours.recv(4096)) != b"ready":
            raise FabricError(word.decode())
        node.spaces = [os.open(f"/proc/{pid}/ns/{space}", os.O_RDONLY) for space in _SPACES]
        ip([f"link set {node.port} master br0 up"])
        ours.send(b"!")
        os.waitpid(pid, 0)
    return node


def _furnish(node: Node, hosts: str, shape: Shape) -> None:
    """Make this process's new namespaces a node: name, address, hosts file, /dev/shm, scratch folder."""
    ns.unshare(ns.NEWNS | ns.NEWUTS | ns.NEWIPC | ns.NEWNET)
    socket.sethostname(node.name)
    ns.mount("tmpfs", node.scratch)
    Path(node.scratch, "tmp").mkdir()
    Path(node.scratch, "hosts").write_text(hosts)
    ns.bind(f"{node.scratch}/hosts", "/etc/hosts")
    ns.mount("tmpfs", "/dev/shm", f"size={shape.shm_bytes}")
    ip(
        [
            f"link add {INTERFACE} mtu {shape.mtu} type veth peer name {node.port} mtu {shape.mtu} netns 1",
            "link set lo up",
            f"addr add {node.address}/24 dev {INTERFACE}",
            f"link set {INTERFACE} up",
        ]
    )


def _mount_point() -> str:
    """A folder that a file system may hide without hiding Python, this package or where the user stands."""
    needed = [os.path.realpath(p) for p in (sys.prefix, sys.base_prefix, str(Path.cwd()), __file__, *sys.path) if p]
    for folder in _MOUNT_POINTS:
        if Path(folder).is_dir() and not any(p == folder or p.startswith(folder + "/") for p in needed):
            return folder
    raise FabricError(f"none of {', '.join(_MOUNT_POINTS)} is free to be mounted over")


def ip(lines: Iterable[str]) -> None:
    """Run several commands of iproute2's `ip` in one process. Raises FabricError."""
    try:
        done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, capture_output=True)
    except FileNotFoundError:
        raise FabricError("the program ip (package iproute2) is not installed") from None
    if done.returncode:
        raise FabricError(f"ip: {done.stderr.strip()}")


def enter_new_namespaces(kind: str) -> None:
    """Leave for the namespaces that the next child, the switch, is to be init of. Raises OSError."""
    if kind == "user-namespaces":
        ns.become_root_of_user_namespace(ns.NEWPID)
    elif kind == "namespaces":
        ns.unshare(ns.NEWPID)


def leave_the_machine() -> None:
    """Give the switch, just forked, its own network, mounts, host name and IPC."""
    ns.unshare(ns.NEWNS | ns.NEWNET | ns.NEWIPC | ns.NEWUTS)


def why_not(kind: str, shape: Shape) -> str:
    """Why a fabric of this kind can't be built here, found by building one of one node; "" if it can."""
    reading, writing = os.pipe()

    def attempt() -> None:
        try:
            enter_new_namespaces(kind)
            os.waitpid(fork(switch, "gonogo:try"), 0)
        except OSError as error:
            os.write(writing, str(error).encode())

    def switch() -> None:
        try:
            leave_the_machine()
            build(1, shape, kind)
        except (OSError, FabricError) as error:
            os.write(writing, str(error).encode())
        else:
            os.write(writing, b"built")

    pid = fork(attempt, "gonogo:try")
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        said = stream.read()
    os.waitpid(pid, 0)
    return "" if said == b"built" else said.decode() or "the attempt ended without a word"
