"""A node may open too few files for the job.

## What is wrong
Sockets to peers, data loaders and mapped files need more descriptors than the soft limit allows. What fails first is
chance: a name that does not resolve, a timeout of the rendezvous, a data loader.

## Fix
`ulimit -n 65536` before the job; LimitNOFILE for the container runtime; the need grows with the number of nodes.

## Source
https://man7.org/linux/man-pages/man2/getrlimit.2.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.limits.short import short
from gonogo.facts.nodes import Nodes
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("limits.open_files_too_few")
def open_files_too_few(findings: Findings, nodes: Nodes) -> Iterator[Diagnosis]:
    """Fires on LIM001; what then breaks of connections and ranks follows from it."""
    yield from short(
        "limits.open_files_too_few", "LIM001", findings, nodes, what="Too few files may be opened",
        commands=lambda _: ("ulimit -Sn; ulimit -Hn; cat /proc/<pid>/limits", "ulimit -n 65536"),
        repair=Repair.CHANGE_CLUSTER, links=True,
        watch="How many a rank has open while it trains: ls /proc/PID/fd | wc -l.",
    )  # fmt: skip
