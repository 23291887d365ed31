"""A role lacks a verb.

## What is wrong
The API server knows the user or service account and its roles do not allow the verb on that resource.

## Fix
A Role (or ClusterRole) with the verb, bound to the account.

## Source
https://kubernetes.io/docs/reference/access-authn-authz/rbac/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair

_NODE = re.compile(r":assumed-role/[^/]+/i-[0-9a-f]{8,}|^system:(?:anonymous|bootstrap|node:)")
"""Users that a node is before it is known as one: roles are bound to its group, not to it."""


@cause("kubernetes.rbac_forbidden", also=True)
def rbac_forbidden(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the API server's word, which names all that is needed."""
    if owned := events.of("k8s.owner_refused"):
        yield _may_not_own(owned)
    seen = events.of("k8s.forbidden").outside(events.of("kubelet.register_refused"))
    if seen:
        first = seen.first
        group = f".{first.get('group')}" if first.get("group") else ""
        yield diagnosis(
            "kubernetes.rbac_forbidden",
            f"{first.get('user')} may not {first.get('verb')} {first.get('resource')}{group}.",
            seen,
            [r.cite("rules") for r in (*objects.of("ClusterRole"), *objects.of("Role")) if r.items("rules")],
            repair=Repair.CHANGE_PERMISSION,
            certainty=Certainty.HYPOTHESIS if all(_NODE.search(e.get("user")) for e in seen) else None,
            commands=(
                f"kubectl auth can-i {first.get('verb')} {first.get('resource')}{group} --as {first.get('user')}",
            ),
        )


def _may_not_own(owned: Events) -> Diagnosis:
    """An admission plug-in wants the right to set finalizers on the owner."""
    group = f".{owned.first.get('group')}" if owned.first.get("group") else ""
    owner = f"{owned.first.get('controller')}s{group}" if owned.first.get("controller") else "<owners>"
    return diagnosis(
        "kubernetes.rbac_forbidden",
        f"The controller may not update the finalizers of {owner if '<' not in owner else 'the owner'}, so it makes "
        f"no {owned.first.get('object')}.",
        owned,
        repair=Repair.CHANGE_PERMISSION,
        commands=(f"kubectl auth can-i update {owner} --subresource=finalizers --as <service-account>",),
    )
