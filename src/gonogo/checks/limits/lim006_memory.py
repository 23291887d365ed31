"""Every node has memory left for a rank.

## Why it matters
A rank that needs more than its control group allows is killed without a word; the others report closed connections.

## Usual causes
- a memory limit of the pod that leaves no room for the framework itself
- other programs, or files in /dev/shm, which count as memory of the pod

## Fix
Raise the pod's memory limit; look at what uses it with `cat /sys/fs/cgroup/memory.stat`.

## Source
https://docs.kernel.org/admin-guide/cgroup-v2.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.nodes import Nodes
from gonogo.kernel import check
from gonogo.model import Finding, Status

NEED_BYTES = 512 << 20
"""A framework, the buffers of 64 MiB collectives, and a small model."""


@check("LIM006")
def memory(nodes: Nodes) -> Iterator[Finding]:
    """Warns: what the run itself needs shows when it is killed, and its files in the page cache count as used."""
    for subject, info in nodes.present.items():
        room = info.room
        known = [m for m in (room.memory_bytes.free, room.memory_available_bytes) if m is not None]
        killed = room.oom_kills or 0
        evidence = (info.record.evidence(f"{info.name}: limit {room.memory_bytes.limit}, kills for memory {killed}"),)
        if not known:
            yield Finding(Status.UNKNOWN, subject, f"{info.name} did not tell what memory it has.", evidence=evidence)
            continue
        free = min(known)
        before = f"; {killed} of its control group were killed for memory before" if killed else ""
        yield Finding(
            Status.OK if free >= NEED_BYTES else Status.WARN,
            subject,
            f"{info.name} has {free / 2**30:.2f} GiB of memory left{before}.",
            measured=free,
            expected=NEED_BYTES,
            unit="bytes",
            threshold_source="a framework, its buffers and a small model",
            evidence=evidence,
        )
