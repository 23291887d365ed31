"""The caller has no access entry and no RBAC in the cluster.

## What is wrong
AWS knows the caller, the cluster doesn't: there is no access entry (or aws-auth mapping) for the role.

## Fix
An access entry with an access policy for the caller's role.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("eks.unauthorized", also=True)
def unauthorized(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the API server's word."""
    seen = events.of("k8s.unauthorized")
    if seen and not events.of("iam.credentials_absent"):
        lists = [a for a in objects.of("answer") if isinstance(a.data.get("accessEntries"), list)]
        yield diagnosis(
            "eks.unauthorized",
            "The cluster does not know the caller.",
            seen,
            [a.cite("accessEntries") for a in lists],
            [a.cite("Arn") for a in objects.of("answer") if "Arn" in a.data],
            repair=Repair.CHANGE_PERMISSION,
            commands=(
                "aws eks create-access-entry --cluster-name <cluster> --principal-arn <role-arn>",
                "aws eks associate-access-policy --cluster-name <cluster> --principal-arn <role-arn> --access-scope "
                "type=cluster "
                "--policy-arn arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
            ),
        )
