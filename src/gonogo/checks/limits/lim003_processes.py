"""Every node may start as many processes and threads as its ranks need.

## Why it matters
Data loaders and BLAS threads count. When no more may be started, a loader's fork fails with "Resource temporarily
unavailable", or a thread can't be made, long after the start.

## Usual causes
- podPidsLimit of the kubelet, or the `pids` limit of a container
- the user's limit (`ulimit -u`), which counts all of the user's processes on the machine

## Fix
Raise podPidsLimit or the limit; or fewer loader workers and threads (OMP_NUM_THREADS).

## Source
https://kubernetes.io/docs/concepts/policy/pid-limiting/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.limits.room import judge
from gonogo.facts.nodes import NodeInfo, Nodes
from gonogo.kernel import check
from gonogo.model import Finding
from gonogo.plan import Plan

OWN_PROCESSES = 16
"""Of one rank: itself, its data loaders, and the threads of its framework."""


@check("LIM003")
def processes(nodes: Nodes, plan: Plan) -> Iterator[Finding]:
    """One finding a node; each rank is taken to start a thread on every CPU as well."""
    ranks = plan.job.ranks_per_node

    def need(info: NodeInfo) -> int:
        return ranks * OWN_PROCESSES + (info.cpus or 1)

    why = f"{ranks} rank{'s' if ranks > 1 else ''} with data loaders and threads"
    yield from judge(nodes, lambda r: r.processes, need, "processes", why)
