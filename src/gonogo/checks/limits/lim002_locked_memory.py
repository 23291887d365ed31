"""Every node may lock as much memory as its fabric needs.

## Why it matters
RDMA, EFA among it, registers memory with its adapter, which must be locked. With a small limit the registration fails
at the job's start. TCP needs none of it.

## Usual causes
- the default of 64 KiB or 8 MiB, which the container runtime passes on to pods
- one node group with another runtime or unit file

## Fix
LimitMEMLOCK=infinity in the unit of the container runtime, then new pods; `ulimit -l unlimited` in a shell.

## Source
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gonogo.facts.nodes import Nodes
from gonogo.kernel import check
from gonogo.model import Finding, Status
from gonogo.plan import Plan


@check("LIM002")
def locked_memory(nodes: Nodes, plan: Plan) -> Iterator[Finding]:
    """Warns where the plan's fabric needs it unlimited and it isn't, or where a node has less than most others."""
    told = {s: i.room.locked_bytes for s, i in nodes.present.items() if i.room.locked_bytes.is_told}
    usual = Counter(q.limit for q in told.values()).most_common(1)[0][0] if told else None
    unlimited = plan.fabric.kind == "efa" or bool(plan.nodes.efa)
    wanted, source = (None, "plan: EFA needs no limit") if unlimited else (usual, "most nodes")
    for subject, info in nodes.present.items():
        quota = told.get(subject)
        evidence = (info.record.evidence(f"{info.name}: locked memory {_spell(quota.limit if quota else None)}"),)
        if quota is None:
            yield Finding(Status.UNKNOWN, subject, f"{info.name} did not tell its limit.", evidence=evidence)
            continue
        short = quota.limit is not None and (wanted is None or quota.limit < wanted)
        yield Finding(
            Status.WARN if short else Status.OK,
            subject,
            f"{info.name} may lock {_spell(quota.limit)}, {_spell(wanted)} expected ({source}).",
            measured=quota.limit,
            expected=wanted,
            unit="bytes",
            threshold_source=source,
            evidence=evidence,
        )


def _spell(size: int | None) -> str:
    return "any amount of memory" if size is None else f"{size >> 10} KiB"
