"""RBAC lets this user do all that a run needs.

## Why it matters
What can't be read can't be judged, and what can't be made can't be tried. Said at the start it costs a Role; found in
the middle it costs a run.

## Usual causes
- the user has an EKS access entry without a policy, or a role that lacks a verb
- the run is bound to a namespace, the role to another

## Fix
`gonogo permissions --level standard -o yaml` prints the least role; apply it and bind the user to it.

## Source
https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.documents.kubernetes import AccessDocument, Review
from gonogo.kernel import check
from gonogo.model import CLUSTER, Evidence, Finding, Status, Subject


@check("KUB101")
def permissions(access: AccessDocument) -> Iterator[Finding]:
    """Unknown for each verb that is missing, since its part goes unproven; what the run itself needs is a fail."""
    missing = [r for r in access.reviews if not r.allowed]
    for review in missing:
        where = f"in namespace {review.namespace}" if review.namespace else "in the cluster"
        text = f"You may not {review.verb} {_name(review)} {where}: {review.why} is not proven."
        status = Status.UNKNOWN if review.level == "read" else Status.FAIL
        evidence = (Evidence(f"{review.verb} {_name(review)}: denied", access.file),)
        yield Finding(status, Subject("object", f"{review.verb} {_name(review)}"), text, evidence=evidence)
    if not missing:
        yield Finding(Status.OK, CLUSTER, f"{len(access.reviews)} of {len(access.reviews)} permissions are there.")


def _name(review: Review) -> str:
    return review.resource + (f".{review.group}" if review.group else "")
