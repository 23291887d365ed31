"""Kubelets are of a version that the API server supports.

## Why it matters
A kubelet may be up to three minor versions older than its API server and never newer. Beyond that, pods start with
fields dropped, or not at all, and EKS refuses to upgrade the control plane.

## Usual causes
- the control plane was upgraded again and again, and the nodes never
- a node group's image is pinned to an old release

## Fix
Upgrade the node group: `aws eks update-nodegroup-version`.

## Source
https://kubernetes.io/releases/version-skew-policy/#kubelet
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.checks.crowd import crowd
from gonogo.documents.kubernetes import ServerDocument
from gonogo.facts.kube_nodes import ChosenNodes, some
from gonogo.kernel import Lost, check
from gonogo.model import Finding, Status

OLDEST = 3  # minor versions


@check("KUB102")
def version_skew(server: ServerDocument, nodes: ChosenNodes) -> Iterator[Finding | Lost]:
    """Counts minor versions; a version that can't be read is unknown."""
    told = list(_each(server, nodes))
    yield from (t for t in told if isinstance(t, Lost))
    yield from crowd(told)


def _each(server: ServerDocument, nodes: ChosenNodes) -> Iterator[Finding | Lost]:
    own = _minor(server.git_version)
    if own is None:
        yield Lost(f"The API server's version {server.git_version!r} can't be read.")
        return
    for subject, node in some(nodes).items():
        theirs = _minor(node.kubelet)
        evidence = (node.evidence(f"{node.name}: kubeletVersion {node.kubelet}"),)
        if theirs is None:
            text = f"The kubelet's version {node.kubelet!r} on {node.name} can't be read."
            yield Finding(Status.UNKNOWN, subject, text, evidence=evidence)
            continue
        status = Status.OK if 0 <= own - theirs <= OLDEST else Status.FAIL
        text = f"The kubelet of {node.name} is {node.kubelet}, the API server {server.git_version}."
        yield Finding(status, subject, text, own - theirs, OLDEST, "minor versions", "version skew policy", evidence)


def _minor(version: str) -> int | None:
    match = re.match(r"v?1\.(\d+)", version)
    return int(match[1]) if match else None
