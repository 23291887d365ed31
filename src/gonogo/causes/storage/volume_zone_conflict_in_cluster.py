"""Volume and node are in different zones.

## What is wrong
The volume is bound to a zone in which nodes of the run are not.

## Fix
Choose nodes in the volume's zone, or make the volume for the first pod.

## Source
https://kubernetes.io/docs/concepts/storage/storage-classes/#volume-binding-mode
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, follows
from gonogo.documents.kubernetes import PodsDocument
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("storage.volume_zone_conflict", refines=("storage.pvc_not_bound",))
def volume_zone_conflict(findings: Findings, workload: Workload, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """One for all claims of the pods."""
    if roots := failed(findings, "STO103"):
        claims = [f.subject.name.partition("/")[2] for f in roots]
        yield diagnose(
            "storage.volume_zone_conflict",
            roots,
            roots[0].message,
            repair=Repair.CHANGE_STORAGE,
            commands=[f"kubectl -n {workload.namespace} describe pvc {claim}" for claim in claims],
            follows=follows(findings, pods, "Unschedulable", "FailedMount", "FailedAttachVolume"),
        )
