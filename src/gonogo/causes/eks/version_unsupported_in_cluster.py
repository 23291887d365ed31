"""The nodes' version doesn't fit the cluster's.

## What is wrong
A kubelet is newer than the API server, or more than three minor versions older.

## Fix
Upgrade the node group to the control plane's version.

## Source
https://kubernetes.io/releases/version-skew-policy/#kubelet
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, names
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("eks.version_unsupported")
def version_unsupported(findings: Findings) -> Iterator[Diagnosis]:
    """By the versions that both sides state."""
    if roots := failed(findings, "KUB102"):
        yield diagnose(
            "eks.version_unsupported",
            roots,
            f"{names(f.subject for f in roots)}: {roots[0].message}",
            repair=Repair.CHANGE_CLUSTER,
            commands=("aws eks update-nodegroup-version --cluster-name <cluster> --nodegroup-name <node-group>",),
        )
