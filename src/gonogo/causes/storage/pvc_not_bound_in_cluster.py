"""A claim waits.

## What is wrong
The claim exists or not, but no volume is bound to it, so the pods that mount it stay pending.

## Fix
Mend what the claim's events name: class, driver, permission, size, zone.

## Source
https://kubernetes.io/docs/concepts/storage/persistent-volumes/#binding
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, follows
from gonogo.documents.kubernetes import PodsDocument
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("storage.pvc_not_bound")
def pvc_not_bound(findings: Findings, workload: Workload, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """One for all claims of the pods."""
    if roots := failed(findings, "STO101", lambda f: "can't share" not in f.message):
        claims = [f.subject.name.partition("/")[2] for f in roots]
        yield diagnose(
            "storage.pvc_not_bound",
            roots,
            roots[0].message,
            repair=Repair.CHANGE_STORAGE,
            commands=[f"kubectl -n {workload.namespace} describe pvc {claim}" for claim in claims],
            follows=follows(findings, pods, "Unschedulable", "FailedMount", "FailedAttachVolume"),
        )
