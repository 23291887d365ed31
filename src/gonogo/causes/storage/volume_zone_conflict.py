"""Volume and node are in different zones.

## What is wrong
An EBS volume lives in one zone. No node there fits the pod.

## Fix
A node group in the volume's zone; `volumeBindingMode: WaitForFirstConsumer`.

## Source
https://kubernetes.io/docs/concepts/storage/storage-classes/#volume-binding-mode
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.unschedulable import unschedulable
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause(
    "storage.volume_zone_conflict",
    refines=("scheduling.insufficient_resources", "storage.pvc_not_bound", "scheduling.node_selector_matches_nothing"),
    also=True,
)
def volume_zone_conflict(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the scheduler's word."""
    told = [u for u in unschedulable(events) if u.count("volume node affinity conflict")]
    if told:
        volumes = [v for v in objects.of("PersistentVolume") if v.get("spec.nodeAffinity")]
        yield diagnosis(
            "storage.volume_zone_conflict",
            f"The pod's volume is in a place, most often a zone, that "
            f"{told[-1].count('volume node affinity conflict')} of {told[-1].nodes} nodes are not in.",
            Events(tuple(u.event for u in told)),
            [v.cite("spec.nodeAffinity") for v in volumes],
            [
                n.cite(("metadata", "labels", "topology.kubernetes.io/zone"))
                for n in objects.of("Node")
                if n.get(("metadata", "labels", "topology.kubernetes.io/zone"))
            ][:2],
            repair=Repair.CHANGE_STORAGE,
            subjects=[v.subject for v in volumes],
            commands=(
                "kubectl get pv -o custom-columns=N:.metadata.name,Z:.spec.nodeAffinity",
                "kubectl get nodes -L topology.kubernetes.io/zone",
            ),
        )
