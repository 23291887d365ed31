"""A single-node volume on several nodes.

## What is wrong
The volume can be attached to one node at a time, and pods on several mount it.

## Fix
A shared file system (FSx for Lustre, EFS) with ReadWriteMany.

## Source
https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, follows
from gonogo.documents.kubernetes import PodsDocument
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("storage.volume_multi_attach")
def volume_multi_attach(findings: Findings, workload: Workload, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """One for all claims of the pods."""
    if roots := failed(findings, "STO101", lambda f: "can't share" in f.message):
        claims = [f.subject.name.partition("/")[2] for f in roots]
        yield diagnose(
            "storage.volume_multi_attach",
            roots,
            roots[0].message,
            repair=Repair.CHANGE_STORAGE,
            commands=[f"kubectl -n {workload.namespace} describe pvc {claim}" for claim in claims],
            follows=follows(findings, pods, "Unschedulable", "FailedMount", "FailedAttachVolume"),
        )
