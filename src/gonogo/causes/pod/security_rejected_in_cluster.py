"""Pod Security or an admission policy rejects the pods.

## What is wrong
The namespace's Pod Security level, a ValidatingAdmissionPolicy or a webhook refuses something in the pod's spec, so no
pod is made.

## Fix
Take out of the spec what the message names, or use a namespace where it is allowed.

## Source
https://kubernetes.io/docs/concepts/security/pod-security-admission/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, follows, not_run
from gonogo.documents.kubernetes import PodsDocument
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("pod.security_rejected")
def security_rejected(findings: Findings, workload: Workload, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """Before the run by label and dry run, during it by the Job's events."""
    roots = [*failed(findings, "POD101"), *failed(findings, "POD102"), *not_run(findings, "FailedCreate")]
    if roots:
        told = next((f for f in roots if f.check == "POD102"), roots[0])
        yield diagnose(
            "pod.security_rejected",
            roots,
            f"No pod is admitted to namespace {workload.namespace}: {told.message}",
            repair=Repair.CHANGE_JOB,
            commands=(
                f"kubectl get namespace {workload.namespace} --show-labels",
                "kubectl get validatingadmissionpolicybindings,validatingwebhookconfigurations",
            ),
            follows=follows(findings, pods, "FailedCreate"),
        )
