"""One node differs from the others.

## What is wrong
A node has another type, architecture, driver, kernel or image than its peers, so that ranks run different software.

## Fix
Replace the odd node, or roll the node group to one release.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/update-managed-node-group.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, names
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair, Status


@cause("node.mixed_configuration")
def mixed_configuration(findings: Findings) -> Iterator[Diagnosis]:
    """Where ranks would feel it; what is only a warning stays one."""
    roots = findings.failed("NOD104")
    if not roots:
        return
    subjects = list(dict.fromkeys(f.subject for f in roots))
    warned = [f for f in findings.of("NOD104", Status.WARN) if f.subject in subjects]
    yield diagnose(
        "node.mixed_configuration",
        [*roots, *warned],
        f"{names(subjects)} differs from its peers: {roots[0].message}",
        repair=Repair.REPLACE_NODE,
        commands=(
            "kubectl get nodes -L node.kubernetes.io/instance-type,eks.amazonaws.com/nodegroup-image",
            *(f"kubectl drain {s.name} --ignore-daemonsets --delete-emptydir-data" for s in subjects[:2]),
        ),
    )
