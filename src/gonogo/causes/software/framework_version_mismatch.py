"""Nodes run different versions of the framework.

## What is wrong
One node has another torch, TensorFlow, Horovod or NCCL than most: a moving image tag that was pulled at another time,
or an installation of its own. It may pass today; wire formats, kernels and checkpoints differ between versions.

## Fix
Pin the image by its digest and start all ranks from it.

## Source
https://kubernetes.io/docs/concepts/containers/images/#image-names
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST, MOST_NODES, and_others, on
from gonogo.facts.nodes import Nodes
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Repair


@cause("software.framework_version_mismatch")
def framework_version_mismatch(findings: Findings, nodes: Nodes) -> Iterator[Diagnosis]:
    """At most one diagnosis: the nodes that differ from most."""
    odd = findings.failed("SFT001")
    if not odd:
        return
    names = [f.subject.name for f in odd]
    usual = next((i for s, i in nodes.present.items() if s.name not in names), None)
    yield Diagnosis(
        cause="software.framework_version_mismatch",
        certainty=Certainty.ESTABLISHED,
        summary=f"{len(odd)} of {len(nodes)} nodes run another framework ({and_others(names)}): {odd[0].message}",
        subjects=tuple(f.subject for f in odd),
        evidence=(
            *(e for f in odd[:MOST] for e in f.evidence),
            *((usual.record.evidence(f"versions of {usual.name}, as of most"),) if usual else ()),
        ),
        explains=tuple(f.key for f in odd),
        repair=Repair.CHANGE_IMAGE,
        commands=tuple(
            on(n, "python3 -m pip list | grep -iE 'torch|tensorflow|horovod|nccl'")
            for n in names[:MOST_NODES]
        ),
        next_observation="Which image each node runs: its digest in the pod's status.",
    )  # fmt: skip
