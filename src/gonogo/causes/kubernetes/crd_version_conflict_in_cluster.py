"""The installed kind doesn't serve that version.

## What is wrong
Two generations of an operator share a kind's name, and the one that is installed serves another version, or nobody
acts on it.

## Fix
Keep one operator for the kind, and write the manifest for the version that it serves.

## Source
https://github.com/kubeflow/mpi-operator#installation
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("kubernetes.crd_version_conflict")
def crd_version_conflict(findings: Findings) -> Iterator[Diagnosis]:
    """A version that isn't served, or two operators for one kind."""
    roots = [*failed(findings, "KUB103", lambda f: "is served as" in f.message), *failed(findings, "KUB104")]
    if roots:
        yield diagnose(
            "kubernetes.crd_version_conflict",
            roots,
            roots[0].message,
            repair=Repair.CHANGE_CLUSTER,
            commands=("kubectl get crd mpijobs.kubeflow.org -o jsonpath='{.spec.versions[*].name}'",),
        )
