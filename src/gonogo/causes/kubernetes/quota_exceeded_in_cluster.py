"""A ResourceQuota or LimitRange rejects the pods.

## What is wrong
The namespace's quota has too little left for all pods, or a limit range refuses their size.

## Fix
Raise it, free what uses it up, or run in another namespace.

## Source
https://kubernetes.io/docs/concepts/policy/resource-quotas/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, follows, not_run
from gonogo.documents.kubernetes import PodsDocument
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair

WORDS = ("exceeded quota", "failed quota", "maximum", "minimum", "must specify limits", "must specify requests")


@cause("kubernetes.quota_exceeded", refines=("pod.security_rejected",))
def quota_exceeded(findings: Findings, workload: Workload, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """By the arithmetic of quota and pods, by the API server's own answer, or by the pods that were never made."""
    refused = [f for f in (*failed(findings, "POD102"), *not_run(findings, "FailedCreate")) if any(
        w in f.message for w in WORDS)]  # fmt: skip
    roots = [*failed(findings, "QUO101"), *failed(findings, "QUO102"), *refused]
    if roots:
        yield diagnose(
            "kubernetes.quota_exceeded",
            roots,
            f"Namespace {workload.namespace} has no room for {workload.count} pods: {roots[0].message}",
            repair=Repair.REQUEST_QUOTA,
            commands=(f"kubectl -n {workload.namespace} describe resourcequota,limitrange",),
            follows=follows(findings, pods, "FailedCreate"),
        )
