"""Registry authentication or permission.

## What is wrong
The node's role, or the pod's pull secret, may not pull from this registry.

## Fix
Give the node role pull permission, or the pod a pull secret.

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

WORDS = ("the registry refuses these credentials",)


@cause("image.pull_denied", refines=("image.not_found",))
def pull_denied(findings: Findings, workload: Workload, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """By the kubelet's words on the pull."""
    roots = failed(findings, "POD103", lambda f: any(word in f.message for word in WORDS))
    if roots:
        yield diagnose(
            "image.pull_denied",
            roots,
            f"{len(roots)} of {workload.count} pods wait for {workload.image}: {roots[0].message}",
            repair=Repair.CHANGE_PERMISSION,
            commands=(f"kubectl -n {workload.namespace} describe pod {roots[0].subject.name}",),
            follows=follows(findings, pods, *{str(f.measured) for f in roots}),
        )
