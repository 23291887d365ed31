"""The cluster's or kubelet's version is out of support or skewed.

## What is wrong
EKS refuses versions that ended, and node groups newer than the cluster.

## Fix
Update the cluster one minor version at a time, then its nodes.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Evidence, Repair

OLDEST = 3  # minor versions that a kubelet may be behind its API server
_MINOR = re.compile(r"v?1\.(\d+)")


@cause("eks.version_unsupported", refines=("eks.addon_unhealthy",), also=True)
def version_unsupported(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on EKS's word, or where kubelets and server state versions that may not meet."""
    seen = events.of("eks.version_refused")
    if skewed := _skewed(events, objects):
        server, nodes = skewed
        versions = sorted({str(n.get(_KUBELET)) for n in nodes})
        yield diagnosis(
            "eks.version_unsupported",
            f"The kubelets of {len(nodes)} nodes are {', '.join(versions)} and the API server is "
            f"{server.text.strip()[:120]}: only up to {OLDEST} minor versions behind, and never ahead, is supported.",
            [n.cite(_KUBELET) for n in nodes[:3]],
            server,
            events.of("eks.insight_error"),
            repair=Repair.CHANGE_CLUSTER,
            subjects=[n.subject for n in nodes],
            commands=("aws eks update-nodegroup-version --cluster-name <cluster> --nodegroup-name <node-group>",),
        )
        return
    if seen:
        yield diagnosis(
            "eks.version_unsupported",
            f"EKS refuses the version: {seen.first.get('error')}.",
            seen,
            [c.cite("version") for c in objects.of("cluster") if c.get("version")],
            repair=Repair.CHANGE_CLUSTER,
            commands=("aws eks update-cluster-version --name <cluster> --kubernetes-version <version>",),
        )


_KUBELET = "status.nodeInfo.kubeletVersion"


def _skewed(events: Events, objects: Objects) -> tuple[Evidence, list[Object]] | None:
    """The server's version, and the nodes that may not be in its cluster; None where all may, or one is not told."""
    told = _server(events, objects)
    if told is None:
        return None
    server, evidence = told
    nodes = [
        n
        for n in objects.of("Node")
        if (theirs := _minor(str(n.get(_KUBELET, "")))) is not None and not 0 <= server - theirs <= OLDEST
    ]
    return (evidence, nodes) if nodes else None


def _server(events: Events, objects: Objects) -> tuple[int, Evidence] | None:
    for one in objects.of("serverVersion"):
        if (minor := _minor(str(one.get("gitVersion", "")))) is not None:
            return minor, one.cite("gitVersion")
    for one in objects.of("cluster"):
        if (minor := _minor(str(one.get("version", "")))) is not None:
            return minor, one.cite("version")
    for event in events.of("k8s.server_version"):
        if (minor := _minor(event.get("version"))) is not None:
            return minor, event.evidence
    return None


def _minor(version: str) -> int | None:
    found = _MINOR.match(version)
    return int(found[1]) if found else None
