"""No driver for the claim.

## What is wrong
The driver that makes or mounts the claim's volume is not installed, or not on these nodes.

## Fix
Install the driver's add-on, with tolerations for the nodes' taints.

## Source
https://kubernetes-csi.github.io/docs/csi-driver-object.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, follows
from gonogo.documents.kubernetes import PodsDocument
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("storage.csi_driver_not_installed", refines=("storage.pvc_not_bound",))
def csi_driver_not_installed(findings: Findings, workload: Workload, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """One for all claims of the pods."""
    if roots := failed(findings, "STO102"):
        claims = [f.subject.name.partition("/")[2] for f in roots]
        yield diagnose(
            "storage.csi_driver_not_installed",
            roots,
            roots[0].message,
            repair=Repair.CHANGE_STORAGE,
            commands=[f"kubectl -n {workload.namespace} describe pvc {claim}" for claim in claims],
            follows=follows(findings, pods, "Unschedulable", "FailedMount", "FailedAttachVolume"),
        )
