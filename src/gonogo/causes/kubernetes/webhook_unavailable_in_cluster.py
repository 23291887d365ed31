"""An admission webhook doesn't answer.

## What is wrong
The API server must ask a webhook about each pod, and its service has no endpoints, or refuses. No pod is admitted.

## Fix
Bring the webhook's pods up, or let it fail open (`failurePolicy: Ignore`), or remove its configuration.

## Source
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, follows, not_run
from gonogo.documents.kubernetes import PodsDocument
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("kubernetes.webhook_unavailable", refines=("pod.security_rejected",))
def webhook_unavailable(findings: Findings, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """By the API server's words on the call."""
    refused = [*failed(findings, "POD102"), *not_run(findings, "FailedCreate")]
    roots = [f for f in refused if "failed calling webhook" in f.message]
    if roots:
        name = re.search(r'webhook "([^"]+)"', roots[0].message)
        yield diagnose(
            "kubernetes.webhook_unavailable",
            roots,
            f"The admission webhook {name[1] if name else ''} does not answer, so no pod is admitted.".replace(
                "  ", " "
            ),
            repair=Repair.CHANGE_CLUSTER,
            commands=("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",),
            follows=follows(findings, pods, "FailedCreate"),
        )
