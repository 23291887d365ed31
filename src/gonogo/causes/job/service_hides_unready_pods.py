"""The job's Service hides pods that aren't ready.

## What is wrong
The headless Service by which ranks find each other has no name for a pod until it is ready, and pods become ready only
after they have found each other, or late.

## Fix
`publishNotReadyAddresses: true` in the Service's spec.

## Source
https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Repair


@cause("job.service_hides_unready_pods")
def service_hides_unready_pods(findings: Findings, workload: Workload) -> Iterator[Diagnosis]:
    """Established where pods run without a name, else supported: whether a probe waits for peers isn't tried."""
    for root in failed(findings, "JOB101"):
        name = root.subject.name.partition("/")[2]
        is_seen, is_there = len(root.evidence) > 1, bool(root.evidence[0].file)
        patch = (
            f"kubectl -n {workload.namespace} patch service {name} --type merge "
            """-p '{"spec":{"publishNotReadyAddresses":true}}'"""
        )
        yield diagnose(
            "job.service_hides_unready_pods",
            [root],
            root.message,
            repair=Repair.CHANGE_JOB,
            commands=(patch,),
            certainty=Certainty.ESTABLISHED if is_seen else Certainty.SUPPORTED,
            next_observation=""
            if is_there
            else f"Set it for {name} in the manifest, too: it is not applied, or differs.",
        )
