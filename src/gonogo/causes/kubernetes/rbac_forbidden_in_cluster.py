"""A role lacks a verb.

## What is wrong
The user of this context may not do what a run needs.

## Fix
Apply the least role that `gonogo permissions` prints, and bind the user to it.

## Source
https://kubernetes.io/docs/reference/access-authn-authz/rbac/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose
from gonogo.documents.kubernetes import Scope
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair, Status


@cause("kubernetes.rbac_forbidden")
def rbac_forbidden(findings: Findings, scope: Scope) -> Iterator[Diagnosis]:
    """What RBAC itself said, and what was lost for it."""
    roots = findings.of("KUB101", Status.FAIL, Status.UNKNOWN)
    denied = [f for f in roots if f.subject.kind == "object"]
    if not denied:
        return
    lost = [f.key for f in findings if f.status is Status.UNKNOWN and "Forbidden" in f.message]
    verbs = ", ".join(f.subject.name for f in denied[:4]) + (f" and {len(denied) - 4} more" if len(denied) > 4 else "")
    yield diagnose(
        "kubernetes.rbac_forbidden",
        denied,
        f"This user may not: {verbs}.",
        repair=Repair.CHANGE_PERMISSION,
        commands=(f"gonogo permissions -n {scope.namespace} -o yaml | kubectl apply -f -",),
        follows=lost,
    )
