"""The operator for that kind of job isn't installed.

## What is wrong
The API knows no such kind, so the manifest can't be applied.

## Fix
Install the operator, or use a kind that is there, such as an Indexed Job.

## Source
https://www.kubeflow.org/docs/components/trainer/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("kubernetes.crd_missing")
def crd_missing(findings: Findings) -> Iterator[Diagnosis]:
    """Only where the list of kinds could be read."""
    if roots := failed(findings, "KUB103", lambda f: "is not installed" in f.message):
        yield diagnose(
            "kubernetes.crd_missing",
            roots,
            roots[0].message,
            repair=Repair.INSTALL_COMPONENT,
            commands=("kubectl api-resources | grep -i job",),
        )
