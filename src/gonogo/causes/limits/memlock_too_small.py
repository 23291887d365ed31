"""A node may lock less memory than the others, or than its fabric needs.

## What is wrong
RDMA and EFA register memory, which must be locked. With a small RLIMIT_MEMLOCK the registration fails at the start;
over TCP nothing of it shows.

## Fix
LimitMEMLOCK=infinity in the unit of the container runtime, then new pods.

## Source
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.limits.short import short
from gonogo.facts.nodes import Nodes
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair, Status


@cause("limits.memlock_too_small")
def memlock_too_small(findings: Findings, nodes: Nodes) -> Iterator[Diagnosis]:
    """Fires on LIM002, which warns: this run's own traffic did not need it."""
    yield from short(
        "limits.memlock_too_small", "LIM002", findings, nodes, what="Little memory may be locked",
        commands=lambda _: ("ulimit -l; systemctl show containerd -p LimitMEMLOCK",),
        repair=Repair.CHANGE_CLUSTER, status=Status.WARN,
        watch="Whether the job needs it: over EFA or InfiniBand it does.",
    )  # fmt: skip
