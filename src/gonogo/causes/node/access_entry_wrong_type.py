"""The node role's access entry has the wrong type.

## What is wrong
Nodes need an entry of type EC2_LINUX (or EC2_WINDOWS): only it puts them in system:nodes. With STANDARD, or with EC2
(which is Auto Mode's), the kubelet is unauthorized or forbidden, and the node never joins.

## Fix
Delete the entry and create it again with the type EC2_LINUX.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_OF_NODES = ("EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX", "HYBRID_LINUX", "HYPERPOD_LINUX")


@cause(
    "node.access_entry_wrong_type",
    refines=("node.not_joined", "eks.unauthorized", "kubernetes.rbac_forbidden"),
    also=True,
)
def access_entry_wrong_type(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a kubelet is refused and the entry of a role has a type that is no node's."""
    refused = events.of("kubelet.register_refused").where(error=re.compile("(?i)unauthorized|forbidden"))
    entries = [
        e
        for e in objects.of("accessEntry", "accessEntries")
        if e.get("type") and e.get("type") not in _OF_NODES and ":role/" in str(e.get("principalArn", ""))
    ]
    if refused and entries:
        arn = str(entries[0].get("principalArn"))
        entry = f"--cluster-name {entries[0].get('clusterName', 'CLUSTER')} --principal-arn {arn}"
        yield diagnosis(
            "node.access_entry_wrong_type",
            f"The access entry of {arn.rpartition('/')[2]} has the type {entries[0].get('type')}; nodes need "
            f"EC2_LINUX.",
            refused,
            [entries[0].cite("type")],
            repair=Repair.CHANGE_PERMISSION,
            commands=(f"aws eks delete-access-entry {entry}", f"aws eks create-access-entry {entry} --type EC2_LINUX"),
        )
        return
    if refused and (told := events.of("eks.entry_type")):
        yield diagnosis(
            "node.access_entry_wrong_type",
            "The access entry of the nodes' role has the type STANDARD; nodes need EC2_LINUX.",
            refused,
            told,
            repair=Repair.CHANGE_PERMISSION,
            commands=(
                "aws eks delete-access-entry --cluster-name <cluster> --principal-arn <role-arn>",
                "aws eks create-access-entry --cluster-name <cluster> --principal-arn <role-arn> --type EC2_LINUX",
            ),
        )
