"""Rate limits or very slow pulls.

## What is wrong
The registry answers with too many requests.

## Fix
Mirror the image into a registry near the nodes.

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

WORDS = "the registry limits the rate"


@cause("image.pull_slow_or_throttled")
def pull_slow_or_throttled(findings: Findings, workload: Workload, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """By the kubelet's words on the pull."""
    roots = failed(findings, "POD103", lambda f: WORDS in f.message)
    if roots:
        yield diagnose(
            "image.pull_slow_or_throttled",
            roots,
            f"{len(roots)} of {workload.count} pods wait for {workload.image}: {roots[0].message}",
            repair=Repair.CHANGE_IMAGE,
            commands=(f"kubectl -n {workload.namespace} describe pod {roots[0].subject.name}",),
            follows=follows(findings, pods, *{str(f.measured) for f in roots}),
        )
