"""The API server would admit the pods.

## Why it matters
Between a manifest and a pod stand webhooks, policies, quotas and Pod Security. Asked beforehand, with a dry run that
makes nothing, the API server says in its own words what a Job's controller would only write into events.

## Usual causes
- an admission policy or webhook of the platform refuses an image, a missing label or a size
- a webhook's own service doesn't answer
- Pod Security, a ResourceQuota or a LimitRange

## Fix
Do what the message says; it comes from the rule that refuses.

## Source
https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.documents.kubernetes import AdmissionDocument
from gonogo.kernel import check
from gonogo.model import CLUSTER, Evidence, Finding, Status


@check("POD102")
def admitted(admission: AdmissionDocument) -> Iterator[Finding]:
    """The server's answer to one pod; how many of them a quota holds is QUO101's."""
    evidence = (Evidence(admission.message or "created (server dry run)", admission.file),)
    if not admission.admitted:
        text = f"The API server refuses the pods: {admission.message.rstrip('.')}."
        yield Finding(Status.FAIL, CLUSTER, text, admission.code, 201, evidence=evidence)
        return
    warnings = "; ".join(admission.warnings)
    text = "The API server would admit the pods" + (f", and warns: {warnings.rstrip('.')}." if warnings else ".")
    yield Finding(Status.WARN if warnings else Status.OK, CLUSTER, text, 201, 201, evidence=evidence)
