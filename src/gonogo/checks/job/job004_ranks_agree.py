"""The variables that tell ranks who they are agree between the nodes.

## Why it matters
With two ranks of one number, or another world size on one node, ranks wait for somebody who never comes, fail with
words about sizes, or train on without a node, happily.

## Usual causes
- RANK or WORLD_SIZE written by hand into one node's script or pod
- a job that was enlarged, and a node that still has the old number

## Fix
Let the launcher set them (torchrun, the Indexed Job's completion index); set nothing by hand on single nodes.

## Source
https://pytorch.org/docs/stable/elastic/run.html#environment-variables
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.nodes import Nodes
from gonogo.facts.whoami import Odd, odd_variables
from gonogo.kernel import check
from gonogo.model import Finding, Status


@check("JOB004")
def ranks_agree(nodes: Nodes) -> Iterator[Finding]:
    """One finding a node; a skip where a node has neither variable."""
    odd = odd_variables(nodes)
    for subject, info in nodes.present.items():
        told = {name: info.environment[name] for name in ("RANK", "WORLD_SIZE") if name in info.environment}
        words = " ".join(f"{name}={value}" for name, value in told.items())
        evidence = (info.record.evidence(f"environment of {info.name}: {words or 'neither RANK nor WORLD_SIZE'}"),)
        if not told:
            yield Finding(Status.SKIP, subject, f"{info.name} has neither RANK nor WORLD_SIZE set.", evidence=evidence)
            continue
        mine: list[Odd] = odd.get(subject, [])
        said = "; ".join(o.text for o in mine) or "which agrees with the other nodes"
        yield Finding(
            Status.FAIL if mine else Status.OK, subject, f"{info.name} has {words}: {said}.", words, evidence=evidence
        )
