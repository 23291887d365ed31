"""Every node may open as many files as its ranks need.

## Why it matters
Sockets to peers, data loaders and mapped files all take descriptors, more with every node of the job. When they run
out, torch speaks of names that don't resolve or of timeouts, and only sometimes of files.

## Usual causes
- a soft limit of 1024 from a shell or an old service unit
- a limit for the container runtime that pods inherit

## Fix
Raise the soft limit: `ulimit -n 65536` before the job, or LimitNOFILE in the unit of the container runtime.

## Source
https://man7.org/linux/man-pages/man2/getrlimit.2.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.limits.room import judge
from gonogo.facts.nodes import Nodes
from gonogo.kernel import check
from gonogo.model import Finding

OWN_FILES = 48
"""Of a rank and its data loaders, whatever the number of peers: a rank with 36 in all fails in its first loader."""

FILES_A_PEER = 10
"""Five ports that are probed at once, in both directions; a mesh of Gloo or NCCL needs no more."""


@check("LIM001")
def open_files(nodes: Nodes) -> Iterator[Finding]:
    """One finding a node."""
    need = OWN_FILES + FILES_A_PEER * len(nodes)
    yield from judge(nodes, lambda r: r.open_files, lambda _: need, "open files", f"a job of {len(nodes)} nodes")
