"""The CNI plug-in isn't running on a node.

## What is wrong
Without its agent, new pods on the node get no address.

## Fix
Read the agent's log on that node, and mend what it names.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/managing-vpc-cni.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, follows, names
from gonogo.documents.kubernetes import PodsDocument
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("cni.plugin_not_ready")
def plugin_not_ready(findings: Findings, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """With the pods that got no network for it."""
    if roots := failed(findings, "CNI101"):
        yield diagnose(
            "cni.plugin_not_ready",
            roots,
            f"{names(f.subject for f in roots)}: {roots[0].message}",
            repair=Repair.RESTART_PROCESS,
            commands=("kubectl -n kube-system get pods -o wide | grep -E 'aws-node|cilium|calico'",),
            follows=follows(findings, pods, "FailedCreatePodSandBox"),
        )
