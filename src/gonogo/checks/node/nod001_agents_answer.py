"""Every node's agent answers and says what its node is.

## Why it matters
A node that says nothing has not been looked at: whatever the rest proves, it is not proven for that node.

## Usual causes
- the process was never started there, or died at once
- its image has no Python, or one that is too old
- the node is out of memory, or gone

## Fix
Read the agent's own output in the bundle (`agents/`), then start that node's process by hand.

## Source
https://kubernetes.io/docs/tasks/debug/debug-application/debug-running-pod/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.nodes import NodeInfo, Nodes
from gonogo.kernel import check
from gonogo.model import Finding, Status


@check("NOD001")
def agents_answer(nodes: Nodes) -> Iterator[Finding]:
    """One finding a node; the kernel adds those of the silent ones."""
    for subject, info in nodes.present.items():
        message = f"{info.name} answers: {_summary(info)}."
        yield Finding(Status.OK, subject, message, evidence=(info.record.evidence(f"{info.name} says what it is"),))


def _summary(info: NodeInfo) -> str:
    memory = info.memory_limit_bytes or info.memory_bytes
    parts = [
        f"{info.cpus} CPUs" if info.cpus else "",
        f"{memory / 2**30:.1f} GiB of memory" if memory else "",
        *(f"{name} {info.versions[name]}" for name in ("python", "torch") if info.versions.get(name)),
    ]
    return ", ".join(part for part in parts if part) or "it told no details"
