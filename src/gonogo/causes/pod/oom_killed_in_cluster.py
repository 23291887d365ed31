"""A container was killed for memory.

## What is wrong
The container outgrew its memory limit, or the node ran out, and the kernel killed it.

## Fix
A higher memory limit in the pod template; a LimitRange may have set a small one.

## Source
https://kubernetes.io/docs/tasks/configure-pod-container/assign-memory-resource/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed
from gonogo.documents.kubernetes import EndsDocument
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair, Status


@cause("pod.oom_killed", refines=("job.rank_died", "pod.shm_too_small"), also=True)
def oom_killed(findings: Findings, workload: Workload, ends: EndsDocument | None) -> Iterator[Diagnosis]:
    """By the kubelet's own reason; that only a rank of the pod was killed is seen by its agent."""
    roots = [f for c in ("POD103", "POD104") for f in failed(findings, c, lambda f: "OOMKilled" in f.message)]
    if not roots:
        return
    limits = (workload.container.get("resources") or {}).get("limits") or {}
    pods = {f.subject.name for f in roots}
    nodes = {p.node for p in (ends.pods if ends else ()) if p.pod in pods}
    bad = (Status.FAIL, Status.UNKNOWN)
    about = [f.key for f in findings if f.status in bad and {f.subject.name, f.subject.to} & nodes]
    waiting = [f.key for f in findings if f.status in bad and f.check.startswith(("COL", "TRN", "JOB"))]
    limit = (
        f"the limit of a pod is {limits['memory']}" if "memory" in limits else "the pods state no limit of their own"
    )
    yield diagnose(
        "pod.oom_killed",
        roots,
        f"{len(pods)} of {workload.count} pods were killed for memory; {limit}.",
        repair=Repair.CHANGE_JOB,
        commands=(f"kubectl -n {workload.namespace} get limitrange -o yaml",),
        next_observation="Whether they live with a higher resources.limits.memory in the pod template.",
        follows=[*about, *waiting],
    )  # fmt: skip
