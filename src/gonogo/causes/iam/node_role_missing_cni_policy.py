"""Nodes can't manage addresses: the CNI lacks its policy.

## What is wrong
ipamd attaches interfaces and addresses with the role of aws-node, or of the node. Without AmazonEKS_CNI_Policy it
fails, and pods get no address.

## Fix
Attach AmazonEKS_CNI_Policy to the role of aws-node.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/cni-iam-role.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_ACTIONS = re.compile(
    r"^ec2:(?:Assign|Unassign|CreateNetworkInterface|AttachNetworkInterface|DescribeNetworkInterfaces|ModifyNetworkInterface|DeleteNetworkInterface)"
)


@cause(
    "iam.node_role_missing_cni_policy",
    refines=("iam.missing_permission", "cni.plugin_not_ready", "cni.subnet_exhausted", "node.not_joined"),
    also=True,
)
def node_role_missing_cni_policy(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where one of the CNI's actions is denied."""
    denied = events.of("iam.not_authorized").where(action=_ACTIONS)
    if denied and not any("explicit deny" in e.text for e in denied):
        yield diagnosis(
            "iam.node_role_missing_cni_policy",
            f"The CNI may not call {denied.first.get('action')}.",
            denied,
            events.of("cni.not_ready", "cni.no_address"),
            [o.cite("AttachedPolicies") for o in objects.of("answer") if "AttachedPolicies" in o.data],
            repair=Repair.CHANGE_PERMISSION,
            commands=(
                "aws iam attach-role-policy --role-name <node-role> --policy-arn "
                "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy",
            ),
        )
