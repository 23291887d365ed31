"""The pods' volumes are in the zone of the nodes.

## Why it matters
A volume of one zone can't be attached in another; the scheduler says "volume node affinity conflict", and the pod
stays pending.

## Usual causes
- the volume was made before the nodes, in a zone of the cluster's choosing
- capacity was to be had only in another zone
- a storage class that makes volumes in one zone (allowedTopologies), or disks of one node

## Fix
Choose nodes in the volume's zone, or make the volume with a class that waits for the first pod.

## Source
https://kubernetes.io/docs/concepts/storage/storage-classes/#volume-binding-mode
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.kube_cluster import Claim, Volumes
from gonogo.facts.kube_nodes import ChosenNodes, KubeNode, some
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Skip, check
from gonogo.model import Finding, Status, Subject


@check("STO103")
def zone(storage: Volumes, workload: Workload, nodes: ChosenNodes) -> Iterator[Finding]:
    """Only volumes that are bound to zones or nodes, or whose class makes them in some zones only."""
    claims = {name: c for name in workload.claims if (c := storage.claims.get(name))}
    bound = {name: place for name, claim in claims.items() if any(place := _place(claim, storage))}
    if not bound:
        raise Skip("No volume of the pods is bound to a zone.")
    for name, (zones, hosts) in bound.items():
        near = [n for n in some(nodes).values() if _is_at(n, zones, hosts)]
        status = Status.OK if len(near) == len(nodes) else Status.FAIL
        where = f"{'is' if claims[name].phase == 'Bound' else 'would be'} ({', '.join(hosts or zones)})"
        text = f"{len(near)} of {len(nodes)} nodes are where the volume of {name} {where}."
        subject = Subject("object", f"persistentvolumeclaim/{name}")
        yield Finding(status, subject, text, len(near), len(nodes), "nodes", evidence=(claims[name].evidence(text),))


def _place(claim: Claim, storage: Volumes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    made_by = storage.classes.get(claim.storage_class)
    to_be = made_by.zones if made_by and claim.phase != "Bound" else ()
    return claim.zones or to_be, claim.hosts


def _is_at(node: KubeNode, zones: tuple[str, ...], hosts: tuple[str, ...]) -> bool:
    is_host = not hosts or node.labels.get("kubernetes.io/hostname", node.name) in hosts
    return is_host and (not zones or node.zone in zones)
