"""All nodes run the same framework, Python and kernel.

## Why it matters
Ranks of different versions may speak different wire formats: they hang, crash in the first collective, or train
something else.

## Usual causes
- a moving image tag that some nodes pulled earlier than others
- one node that uses its own installation

## Fix
Pin the image by digest, and start all ranks from it.

## Source
https://pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gonogo.facts.nodes import Nodes
from gonogo.kernel import check
from gonogo.model import Finding, Status

COMPARED = ("python", "kernel", "torch", "tensorflow", "horovod", "nvidia-nccl-cu12", "nvidia-nccl-cu13")
HARMLESS = {"python", "kernel"}
"""By themselves: odd, and no fault of a job."""


@check("SFT001")
def versions_alike(nodes: Nodes) -> Iterator[Finding]:
    """A node that differs from most fails; a difference of Python or the kernel alone warns."""
    told = {subject: tuple(info.versions.get(name, "") for name in COMPARED) for subject, info in nodes.present.items()}
    usual = (
        [Counter(versions[i] for versions in told.values()).most_common(1)[0][0] for i in range(len(COMPARED))]
        if told
        else []
    )
    for subject, versions in told.items():
        info = nodes.present[subject]
        differ = [name for i, name in enumerate(COMPARED) if versions[i] != usual[i]]
        evidence = (info.record.evidence(f"versions of {info.name}"),)
        if not any(versions):
            yield Finding(Status.UNKNOWN, subject, f"{info.name} told no versions.", evidence=evidence)
            continue
        status = Status.OK if not differ else Status.WARN if HARMLESS.issuperset(differ) else Status.FAIL
        words = ", ".join(
            f"{name} {versions[i] or 'absent'}" for i, name in enumerate(COMPARED) if versions[i] or usual[i]
        )
        most = ", ".join(f"{name} {usual[COMPARED.index(name)] or 'absent'}" for name in differ)
        message = f"{info.name} runs {words}{f', most nodes {most}' if differ else ', as most nodes do'}."
        yield Finding(status, subject, message, words, threshold_source="most nodes", evidence=evidence)
