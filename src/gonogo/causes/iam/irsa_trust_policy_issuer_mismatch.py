"""The role's trust policy names another OIDC provider.

## What is wrong
The service account's token is issued by this cluster; the trust policy names the provider of another (often of a
cluster that was deleted and made again).

## Fix
The provider of this cluster in the trust policy, and registered in IAM.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/iam-roles-for-service-accounts.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects, Path
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_ID = re.compile(r"/id/([0-9A-Z]{4,})")


@cause("iam.irsa_trust_policy_issuer_mismatch", refines=("iam.missing_permission", "storage.pvc_not_bound"), also=True)
def irsa_trust_policy_issuer_mismatch(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where STS refuses the token and the trust policy's provider isn't the cluster's."""
    refused = events.of("iam.web_identity_refused")
    clusters = [c for c in objects.of("cluster") if c.get("identity.oidc.issuer")]
    issuers = {m[1] for c in clusters if (m := _ID.search(str(c.get("identity.oidc.issuer"))))}
    shown = events.of("eks.issuer")
    issuers |= set(shown.values("id"))
    unregistered = Events(tuple(e for e in refused if "No OpenIDConnect provider" in e.text))
    for role in _policies(objects):
        trusted = set(_ID.findall(str(role.data)))
        if refused and issuers and trusted and not trusted & issuers:
            yield diagnosis(
                "iam.irsa_trust_policy_issuer_mismatch",
                f"Role {role.get('RoleName', '')} trusts the OIDC provider {sorted(trusted)[0]}, the cluster's is "
                f"{sorted(issuers)[0]}.",
                refused,
                [role.cite(_provider(role))],
                [c.cite("identity.oidc.issuer") for c in clusters[:1]],
                shown,
                repair=Repair.CHANGE_PERMISSION,
                commands=(
                    f"aws iam update-assume-role-policy --role-name {role.get('RoleName', '<role>')} --policy-document file://trust.json",
                ),
            )
            return
    if unregistered:
        yield diagnosis(
            "iam.irsa_trust_policy_issuer_mismatch",
            "The cluster's OIDC provider is not registered in IAM.",
            unregistered,
            [c.cite("identity.oidc.issuer") for c in clusters],
            repair=Repair.CHANGE_PERMISSION,
            commands=("eksctl utils associate-iam-oidc-provider --cluster <cluster> --approve",),
        )


def _policies(objects: Objects) -> tuple[Object, ...]:
    """Roles with their trust policies, and trust policies alone."""
    return tuple(o for o in objects.of("Role", "answer") if "Federated" in str(o.data))


def _provider(role: Object) -> Path:
    for base in (("AssumeRolePolicyDocument",), ()):
        for i, statement in enumerate(role.items((*base, "Statement"))):
            if isinstance(statement, dict) and "Federated" in (statement.get("Principal") or {}):
                return (*base, "Statement", i, "Principal", "Federated")
    return ()
