"""Nodes can't pull: their role lacks the registry's policy.

## What is wrong
The kubelet pulls with the node's role. Without AmazonEC2ContainerRegistryPullOnly (or ReadOnly) ECR answers 403, or
ecr:GetAuthorizationToken and ecr:BatchGetImage are denied.

## Fix
Attach the policy to the node role.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("iam.node_role_missing_ecr_policy", refines=("image.pull_denied", "iam.missing_permission"), also=True)
def node_role_missing_ecr_policy(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where an action of ECR is denied to a role, or pulls are and the node role's policies lack it."""
    denied = events.of("iam.not_authorized").where(action=re.compile("^ecr:"))
    pulls = events.of("image.denied")
    roles = [o for o in objects.of("answer") if "AttachedPolicies" in o.data]
    lacking = [o for o in roles if "ContainerRegistry" not in str(o.data) and "EKSWorkerNode" in str(o.data)]
    listed = events.of("iam.attached_policy")
    named = listed.values("policy")
    bare = any("EKSWorkerNode" in p for p in named) and not any("ContainerRegistry" in p for p in named)
    if (denied and not any("explicit deny" in e.text for e in denied)) or (pulls and (lacking or (bare and not roles))):
        role = next((m[1] for e in denied if (m := re.search(r"assumed-role/([^/\s]+)", e.text))), "the node role")
        if denied and roles and not lacking:
            return
        yield diagnosis(
            "iam.node_role_missing_ecr_policy",
            f"{role} may not pull from ECR.",
            denied,
            pulls,
            [o.cite("AttachedPolicies") for o in lacking],
            listed if not roles else None,
            repair=Repair.CHANGE_PERMISSION,
            commands=(
                f"aws iam attach-role-policy --role-name {role if denied else '<node-role>'} --policy-arn "
                "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly",
            ),
        )
