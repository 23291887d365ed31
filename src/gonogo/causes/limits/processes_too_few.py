"""A node may start too few processes and threads for the job.

## What is wrong
The limit of the pod (podPidsLimit), of its control group or of the user leaves no room for data loaders and threads.
A fork or a new thread then fails with "Resource temporarily unavailable".

## Fix
Raise the limit, or start fewer: OMP_NUM_THREADS, num_workers.

## Source
https://kubernetes.io/docs/concepts/policy/pid-limiting/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.limits.short import short
from gonogo.facts.nodes import Nodes
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("limits.processes_too_few")
def processes_too_few(findings: Findings, nodes: Nodes) -> Iterator[Diagnosis]:
    """Fires on LIM003; ranks that can't be started, or die, follow from it."""
    yield from short(
        "limits.processes_too_few", "LIM003", findings, nodes, what="Too few processes may be started",
        commands=lambda _: ("cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids.current; ulimit -u",),
        repair=Repair.CHANGE_CLUSTER, links=True,
        watch="Whether the limit was hit: `max` in /sys/fs/cgroup/pids.events.",
    )  # fmt: skip
