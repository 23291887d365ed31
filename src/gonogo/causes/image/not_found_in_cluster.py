"""There is no such image or tag.

## What is wrong
The registry has no image of this name and tag, or the node may not pull it and has it not.

## Fix
Correct the name or tag, or push the image.

## Source
https://kubernetes.io/docs/concepts/containers/images/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, follows
from gonogo.documents.kubernetes import PodsDocument
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair

WORDS = ("the image does not exist under this name", "is not on the node")


@cause("image.not_found")
def not_found(findings: Findings, workload: Workload, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """By the kubelet's words on the pull."""
    roots = failed(findings, "POD103", lambda f: any(word in f.message for word in WORDS))
    if roots:
        yield diagnose(
            "image.not_found",
            roots,
            f"{len(roots)} of {workload.count} pods wait for {workload.image}: {roots[0].message}",
            repair=Repair.CHANGE_IMAGE,
            commands=(f"kubectl -n {workload.namespace} describe pod {roots[0].subject.name}",),
            follows=follows(findings, pods, *{str(f.measured) for f in roots}),
        )
