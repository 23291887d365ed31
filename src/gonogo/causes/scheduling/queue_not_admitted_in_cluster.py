"""A queue holds the run's job.

## What is wrong
The job names a queue of Kueue's, which starts it when its quota has room for all of it. Until then it is suspended and
has no pods. A queue that does not exist, or that nobody serves, never starts it.

## Fix
Quota in the ClusterQueue, the right queue's name on the job, or patience.

## Source
https://kueue.sigs.k8s.io/docs/tasks/troubleshooting/troubleshooting_jobs/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, follows, not_run
from gonogo.documents.kubernetes import PodsDocument
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("scheduling.queue_not_admitted", also=True)
def queue_not_admitted_in_cluster(
    findings: Findings, workload: Workload, pods: PodsDocument | None
) -> Iterator[Diagnosis]:
    """On the word of the Job: it is suspended."""
    if roots := not_run(findings, "Queued"):
        yield diagnose(
            "scheduling.queue_not_admitted",
            roots,
            f"{len(roots)} pods wait for their queue: {roots[0].message.partition(': ')[2]}",
            repair=Repair.CHANGE_JOB,
            commands=(
                f"kubectl -n {workload.namespace} get localqueues,workloads",
                "kubectl get clusterqueues -o wide",
            ),
            follows=follows(findings, pods, "Queued"),
        )
