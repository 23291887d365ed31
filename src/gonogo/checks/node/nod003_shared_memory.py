"""/dev/shm is large enough for data loaders and collectives on one node.

## Why it matters
Data loader workers hand over batches, and NCCL its buffers, through /dev/shm. When it is full, processes die of a bus
error that names nothing.

## Usual causes
- a container's default of 64 MiB
- files that dead processes left behind

## Fix
Mount an `emptyDir` with `medium: Memory` on /dev/shm, or start the container with `--shm-size`.

## Source
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.nodes import Nodes
from gonogo.kernel import check
from gonogo.model import Finding, Status
from gonogo.plan import Plan

CONTAINER_DEFAULT_BYTES = 64 << 20
"""What Docker and containerd give where nobody asks for more."""


@check("NOD003")
def shared_memory(nodes: Nodes, plan: Plan) -> Iterator[Finding]:
    """Warns at a container's default for each rank, and below: small models train with it."""
    least = plan.job.ranks_per_node * CONTAINER_DEFAULT_BYTES
    who = f"the data loaders of {plan.job.ranks_per_node} ranks" if plan.job.ranks_per_node > 1 else "data loaders"
    for subject, info in nodes.present.items():
        evidence = (info.record.evidence(f"{info.name}: shm_bytes {info.shm_bytes}, free {info.shm_free_bytes}"),)
        if info.shm_bytes is None:
            yield Finding(
                Status.UNKNOWN, subject, f"{info.name} did not tell the size of its /dev/shm.", evidence=evidence
            )
            continue
        free = info.shm_bytes if info.shm_free_bytes is None else info.shm_free_bytes
        yield Finding(
            Status.OK if free > least else Status.WARN,
            subject,
            f"{info.name} has {free / 2**20:.0f} of {info.shm_bytes / 2**20:.0f} MiB of /dev/shm free; {who} want "
            f"more than {least / 2**20:.0f}.",
            measured=free,
            expected=least + 1,
            unit="bytes",
            threshold_source="more than a container's default for each rank",
            evidence=evidence,
        )
