"""The image is for another CPU.

## What is wrong
The registry has the image, but not for the node's CPU architecture.

## Fix
Build or choose an image for it, or other nodes.

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

WORDS = ("for another CPU architecture", "exec format error")


@cause("image.wrong_architecture", refines=("image.not_found",))
def wrong_architecture(findings: Findings, workload: Workload, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """By the kubelet's words on the pull."""
    roots = failed(findings, "POD103", lambda f: any(word in f.message for word in WORDS))
    if roots:
        yield diagnose(
            "image.wrong_architecture",
            roots,
            f"{len(roots)} of {workload.count} pods wait for {workload.image}: {roots[0].message}",
            repair=Repair.CHANGE_IMAGE,
            commands=(f"kubectl -n {workload.namespace} describe pod {roots[0].subject.name}",),
            follows=follows(findings, pods, *{str(f.measured) for f in roots}),
        )
