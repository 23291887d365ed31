"""A node evicts for disk.

## What is wrong
The node's root volume is nearly full; its kubelet evicts pods, deletes images and takes no new ones.

## Fix
Free it (images, logs), or give the node group larger volumes.

## Source
https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, names
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("node.disk_pressure", refines=("scheduling.missing_toleration",))
def disk_pressure(findings: Findings) -> Iterator[Diagnosis]:
    """By the node's condition."""
    if roots := failed(findings, "NOD102", lambda f: "DiskPressure" in f.message):
        subjects = [f.subject for f in roots]
        yield diagnose(
            "node.disk_pressure",
            roots,
            f"{names(subjects)} is under disk pressure: pods are evicted and none are taken.",
            repair=Repair.CHANGE_CLUSTER,
            commands=[f"kubectl describe node {s.name}" for s in subjects[:4]],
        )
