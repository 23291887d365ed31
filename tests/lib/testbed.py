"""The testbed as tests use it: a real cluster on this machine, with an image of this Python."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "../shared/testbed/testbed"
IMAGE = "gonogo/torch:1"
UNNEEDED = ("boto*", "cryptography*", "cyclopts*", "hatchling*", "hypothesis*", "lightkube*", "moto*", "mypy*", "pip*",
            "plotly*", "_pytest*", "pytest*", "pydantic*", "pygments*", "rich*", "setuptools*", "torch/include",
            "torch/share", "torch/test", "werkzeug*")  # fmt: skip
"""Packages and folders of this Python that no pod imports: two thirds of its files."""


def libraries() -> list[str]:
    """What a Python with torch loads of this machine, beyond what its own executable needs."""
    spec = importlib.util.find_spec("torch")
    assert spec and spec.origin
    torch, found = Path(spec.origin).parent, set()
    for path in [*torch.glob("lib/*.so*"), *torch.glob("*.so")]:
        said = subprocess.run(["ldd", str(path)], capture_output=True, text=True).stdout
        found |= {p for p in re.findall(r"=> (/\S+)", said) if "site-packages" not in p}
    return sorted(found)


@dataclass(frozen=True)
class Bed:
    """One cluster that is up."""

    kubeconfig: str
    kubectl_path: str = "kubectl"
    ours: bool = True  # the testbed, whose nodes may be broken; not a context that a user lent

    def kubectl(self, *words: str, stdin: str | None = None, check: bool = True) -> str:
        done = subprocess.run(
            [self.kubectl_path, "--kubeconfig", self.kubeconfig, *words], input=stdin, capture_output=True, text=True
        )
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(words)}: {done.stderr}")
        return done.stdout

    def apply(self, *objects: dict[str, Any]) -> None:
        self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def node(self, name: str, *command: str) -> str:
        return tool("node-exec", name, "--", *command)

    def nodes(self) -> list[str]:
        return self.kubectl("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}").split()


def tool(*words: str, check: bool = True) -> str:
    done = subprocess.run([str(TOOL), *words], capture_output=True, text=True)
    if check and done.returncode:
        raise AssertionError(f"testbed {' '.join(words)}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done.stdout


def start_node(name: str) -> None:
    """Start a stopped node; on a busy machine its kubelet may come before its containerd is ready, and end."""
    try:
        tool("node-start", name)
    except AssertionError:
        tool("node-stop", name)
        tool("node-start", name)


def up(nodes: int = 2, *more: str) -> Bed:
    """A cluster of so many nodes; nothing is done if it is up already."""
    tool("up", "--nodes", str(nodes), *more)
    return bed()


def bed() -> Bed:
    """The cluster that is up."""
    found = dict(line.removeprefix("export ").split("=", 1) for line in tool("env").splitlines())
    return Bed(found["KUBECONFIG"], f"{found['KUBEBUILDER_ASSETS']}/kubectl")


def image() -> str:
    """This Python, with torch, as an image on every node."""
    folder = str(Path(sys.executable).parent)
    tool("image", IMAGE, "--python", sys.executable, "--paths", *libraries(), "--env", f"PATH={folder}:/usr/bin:/bin",
         "--exclude", *(f"*/site-packages/{name}" for name in UNNEEDED))  # fmt: skip
    return IMAGE


def has_image(bed: Bed) -> bool:
    """Whether every node has it already."""
    held = bed.kubectl("get", "nodes", "-o", "jsonpath={range .items[*]}{.status.images[*].names}{'\\n'}{end}")
    return all(IMAGE in line for line in held.splitlines())


def lent() -> Bed | None:
    """The cluster of $GONOGO_TEST_CONTEXT, or None."""
    context = os.environ.get("GONOGO_TEST_CONTEXT")
    if not context:
        return None
    kubeconfig = os.environ.get("KUBECONFIG", str(Path.home() / ".kube/config"))
    return Bed(kubeconfig, ours=False)


def is_up() -> bool:
    return subprocess.run([str(TOOL), "status"], capture_output=True).returncode == 0


@contextmanager
def without_api_server(bed: Bed) -> Iterator[None]:
    """The test cluster's API server is killed, by the id that was recorded when it was started; then it starts again.

    The new process has the old one's arguments and takes its place in the records, so that `down` ends it, too.
    """
    folder = Path(bed.kubeconfig).parent
    record = folder / "run/kube-apiserver.json"
    old = json.loads(record.read_text())
    proc = Path("/proc", str(old["pid"]))
    words = proc.joinpath("cmdline").read_bytes().decode().split("\0")[:-1]
    assert words[0].endswith("/kube-apiserver"), words
    handle = os.pidfd_open(old["pid"])
    try:
        assert _started(old["pid"]) == old["started"]
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        select.select([handle], [], [], 20)  # readable when it has ended
    finally:
        os.close(handle)
    try:
        yield
    finally:
        with (folder / "log/kube-apiserver.log").open("ab") as log:
            new = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                                   start_new_session=True)  # fmt: skip
        record.write_text(json.dumps({**old, "pid": new.pid, "started": _started(new.pid)}))


def _started(pid: int) -> int:
    """When a process started, in clock ticks since the boot."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
