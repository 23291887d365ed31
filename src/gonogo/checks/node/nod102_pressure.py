"""No chosen node is short of memory, disk or process ids.

## Why it matters
A kubelet under pressure evicts pods, and taints its node so that none come. A training loses a rank in the middle, or
never gets one there.

## Usual causes
- images and logs fill the root volume, which is small by default
- something on the node leaks memory or processes

## Fix
Free what is short (`crictl rmi --prune`, larger root volume), or replace the node.

## Source
https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.crowd import crowd
from gonogo.facts.kube_nodes import ChosenNodes, some
from gonogo.kernel import check
from gonogo.model import Finding, Status

PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")


@check("NOD102")
def pressure(nodes: ChosenNodes) -> Iterator[Finding]:
    """A node that stopped answering is NOD101's: its old word on pressure says nothing."""
    yield from crowd(_each(nodes))


def _each(nodes: ChosenNodes) -> Iterator[Finding]:
    for subject, node in some(nodes).items():
        bad = {kind: c for kind in PRESSURES if (c := node.conditions.get(kind)) and c.status == "True"}
        if bad:
            said = "; ".join(f"{kind}: {c.message}" for kind, c in bad.items())
            yield Finding(Status.FAIL, subject, f"{node.name} has {said.rstrip('.')}.", evidence=(node.evidence(said),))
        elif not any(kind in node.conditions for kind in PRESSURES):
            yield Finding(Status.UNKNOWN, subject, f"{node.name} says nothing of memory, disk and process ids.")
        elif all(c.status == "Unknown" for kind, c in node.conditions.items() if kind in PRESSURES):
            yield Finding(Status.UNKNOWN, subject, f"{node.name} does not answer, so its resources are not known.")
        else:
            yield Finding(Status.OK, subject, f"{node.name} is short of neither memory, disk nor process ids.")
