"""Makes a run's objects in a cluster, and takes them away again, proven by a query for their label."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gonogo.clients.kube import CONFIGMAPS, JOBS, NODES, PODS, SERVICES, Cluster, KubeError, Resource
from gonogo.launch.manifests import MANAGED_BY, RUN_LABEL, Design, config_map, job, service

MADE: tuple[Resource, ...] = (JOBS, SERVICES, CONFIGMAPS)
GONE_SECONDS = 30.0
_POLL_SECONDS = 0.3
_NODES_SECONDS = 2.0  # how often the nodes of what is left are looked at


@dataclass(frozen=True, slots=True)
class Leftover:
    """An object that carries gonogo's label."""

    resource: Resource
    namespace: str
    name: str
    run: str
    node: str = ""  # of a pod that is being deleted: who has to confirm it

    def __str__(self) -> str:
        return f"{self.resource.kind.lower()}/{self.name}"


def start(cluster: Cluster, run: Design, archive: bytes) -> list[str]:
    """Apply all; the names of what was made. The Job waits until what it owns is there. Raises KubeError.

    One of a queue goes on waiting: whoever admits it starts it.
    """
    made = cluster.apply(JOBS, job(run, suspend=True))
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": run.name, "uid": made["metadata"]["uid"]}
    cluster.apply(CONFIGMAPS, config_map(run, archive, owner))
    cluster.apply(SERVICES, service(run, owner))
    if not run.queue:
        cluster.apply(JOBS, job(run))
    return [f"{resource.kind.lower()}/{run.name}" for resource in MADE]


def delete(cluster: Cluster, namespace: str, name: str) -> None:
    """Ask for the deletion of a run's objects; what its Job owns goes with it. Raises KubeError."""
    for resource in MADE:
        cluster.delete(resource, name, namespace)


def gone(cluster: Cluster, namespace: str, selector: str, seconds: float = GONE_SECONDS) -> dict[str, str]:
    """Wait until nothing with the label is left; what still is, with the reason where it is known. Raises KubeError.

    A pod goes when its kubelet says so: where all that is left waits for nodes that are not ready, no more is waited.
    """
    until, look = time.monotonic() + seconds, time.monotonic() + _NODES_SECONDS
    unready: frozenset[str] = frozenset()
    while left := list(leftovers(cluster, namespace, selector)):
        if time.monotonic() >= look:
            unready, look = _unready(cluster, {item.node for item in left}), time.monotonic() + _NODES_SECONDS
        if time.monotonic() >= until or {item.node for item in left} <= unready or cluster.stopped.wait(_POLL_SECONDS):
            break
    waits = "its node {} is not ready, and has to confirm the deletion"
    return {str(item): waits.format(item.node) if item.node in unready else "" for item in left}


def _unready(cluster: Cluster, names: Iterable[str]) -> frozenset[str]:
    """Those of a few nodes that are not ready."""
    found = set()
    for name in sorted(filter(None, names))[:16]:
        try:
            nodes, _ = cluster.objects(NODES, fields=f"metadata.name={name}")
        except KubeError:
            continue  # then it is waited for
        conditions = [c for n in nodes for c in (n.get("status") or {}).get("conditions") or []]
        if not any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions):
            found.add(name)
    return frozenset(found)


def leftovers(cluster: Cluster, namespace: str, selector: str = "") -> Iterator[Leftover]:
    """All objects of gonogo's, or of one run, pods included; no namespace: all. Raises KubeError."""
    wanted = selector or ",".join(f"{k}={v}" for k, v in MANAGED_BY.items())
    for resource in (*MADE, PODS):
        found, _ = cluster.objects(resource, namespace, wanted)
        for item in found:
            meta = item["metadata"]
            run = (meta.get("labels") or {}).get(RUN_LABEL, "")
            if run:
                node = (item.get("spec") or {}).get("nodeName", "") if meta.get("deletionTimestamp") else ""
                yield Leftover(resource, meta.get("namespace", ""), meta["name"], run, node)


def remove(cluster: Cluster, namespace: str, everything: bool = False) -> list[str]:
    """Delete what runs that are over left behind, or all runs; the names of what was deleted. Raises KubeError."""
    found = list(leftovers(cluster, namespace))
    going = set() if everything else {item.run for item in found if item.resource is JOBS and _goes(cluster, item)}
    dead = [item for item in found if item.run not in going]
    for item in dead:
        cluster.delete(item.resource, item.name, item.namespace)
    return [f"{item} in namespace {item.namespace}" for item in dead]


def _goes(cluster: Cluster, item: Leftover) -> bool:
    """Whether a Job still has pods that run."""
    status = cluster.get(JOBS, item.name, item.namespace).get("status") or {}
    return bool(status.get("active"))
