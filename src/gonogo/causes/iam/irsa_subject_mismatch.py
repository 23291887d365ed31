"""The role's trust policy names another service account.

## What is wrong
The condition on `:sub` names another namespace or service account than the pod's, so STS refuses its token.

## Fix
`system:serviceaccount:NAMESPACE:NAME` of the pod in the condition.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/associate-service-account-role.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gonogo.causes.proof import Proof, diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects, Path
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair, Subject

_ID = re.compile(r"/id/([0-9A-Z]{4,})")
_SUBJECT = re.compile(r"system:serviceaccount:([\w.*-]+):([\w.*-]+)")
_ROLE_ARN = ("metadata", "annotations", "eks.amazonaws.com/role-arn")


@cause("iam.irsa_subject_mismatch", refines=("iam.missing_permission", "storage.pvc_not_bound"), also=True)
def irsa_subject_mismatch(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where STS refuses the token and the trust policy's subject is no account that uses the role."""
    refused = events.of("iam.web_identity_refused")
    issuers = {m[1] for c in objects.of("cluster") if (m := _ID.search(str(c.get("identity.oidc.issuer"))))}
    for role in [o for o in objects.of("Role", "answer") if "Federated" in str(o.data)]:
        providers = set(_ID.findall(str(role.data)))
        trusted = set(_SUBJECT.findall(str(role.data)))
        users = _users(role, objects)
        strangers = Events(
            tuple(
                e
                for e in events.of("iam.web_identity_user")
                if not any(_alike(e.get("namespace"), n) and _alike(e.get("account"), a) for n, a in trusted)
            )
        )
        if (
            not users
            and refused
            and trusted
            and strangers
            and len(strangers) == len(events.of("iam.web_identity_user"))
        ):
            asked = strangers.first  # the audit trail names the account that asked, where no object does
            account = str(asked.get("namespace")), str(asked.get("account"))
            yield _mismatch(role, refused, sorted(trusted)[0], account, strangers)
            return
        outside = [a for a in users if not any(_fits(a, *subject) for subject in trusted)]
        if users and all(a.is_table for a in users) and len(outside) < len(users):
            continue  # of the accounts that are listed, one is trusted
        if refused and trusted and outside and not (issuers and providers and not issuers & providers):
            yield _mismatch(
                role,
                refused,
                sorted(trusted)[0],
                (outside[0].namespace, _account(outside[0])),
                [outside[0].cite("metadata.namespace"), outside[0].cite("metadata.name")],
                [outside[0].cite("spec.serviceAccountName")] if outside[0].kind == "Pod" else (),
                subjects=[outside[0].subject],
            )
            return


def _mismatch(
    role: Object,
    refused: Events,
    trusted: tuple[str, str],
    account: tuple[str, str],
    *proofs: Proof,
    subjects: Iterable[Subject] = (),
) -> Diagnosis:
    """Whom the role trusts, and which account asked: both as (namespace, name)."""
    return diagnosis(
        "iam.irsa_subject_mismatch",
        f"The trust policy names {trusted[0]}/{trusted[1]}, and the pod's account is {account[0]}/{account[1]}.",
        refused,
        [role.cite(_condition(role))],
        *proofs,
        repair=Repair.CHANGE_PERMISSION,
        subjects=subjects,
        commands=(
            f"aws iam update-assume-role-policy --role-name {role.get('RoleName', '<role>')} "
            "--policy-document file://trust.json",
        ),
    )


def _users(role: Object, objects: Objects) -> list[Object]:
    """Accounts that are annotated with the role; without its name, all accounts, or those of the pods."""
    name = role.get("RoleName")
    accounts = [a for a in objects.of("ServiceAccount") if not name or str(a.get(_ROLE_ARN, "")).endswith(f"/{name}")]
    if accounts and all(a.is_table for a in accounts):
        accounts = [a for a in accounts if a.name != "default"]
    return accounts or [p for p in objects.of("Pod") if p.get("spec.serviceAccountName")]


def _account(user: Object) -> str:
    return str(user.get("spec.serviceAccountName")) if user.kind == "Pod" else user.name


def _fits(user: Object, namespace: str, name: str) -> bool:
    home = user.namespace or (namespace if user.is_table else "default")  # a table of one namespace does not say which
    return _alike(home, namespace) and _alike(_account(user), name)


def _alike(value: str, pattern: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), value) is not None


def _condition(role: Object) -> Path:
    for base in (("AssumeRolePolicyDocument",), ()):
        for i, statement in enumerate(role.items((*base, "Statement"))):
            for operator, tests in (statement.get("Condition") or {}).items():
                for key in tests:
                    if str(key).endswith(":sub"):
                        return (*base, "Statement", i, "Condition", operator, key)
    return ()
