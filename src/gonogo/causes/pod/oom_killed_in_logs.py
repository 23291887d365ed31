"""A container was killed because memory ran out.

## What is wrong
The container went over its memory limit (or the node ran out), and the kernel killed a process: exit code 137,
often with nothing in the log. /dev/shm counts against the limit, too.

## Fix
A larger limit, or less memory: fewer workers, smaller batches on the host, streaming data sets.

## Source
https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from gonogo.causes.proof import diagnosis
from gonogo.facts.beside import only_beside
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects, Path, pod_specs
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

MOST = 50
"""Containers that are named; more are alike."""
_SLURM = re.compile(r"\b(?:slurmstepd|srun|StepId=)|Exceeded job memory limit")
_OF_SLURM = ("sacct -j <job> --format=JobID,State,ExitCode,ReqMem,MaxRSS,NodeList",)
_OF_PODS = (
    "kubectl get pod <pod> -o jsonpath='{.metadata.ownerReferences[*].name} {.spec.containers[*].resources}'",
    "kubectl get pod <pod> -o jsonpath='{.status.containerStatuses[*].lastState}'",
)


@cause("pod.oom_killed", refines=("job.rank_died", "pod.shm_too_small", "job.restart_hides_error"), also=True)
def oom_killed_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the kubelet's or the kernel's word; exit code 137 alone is not enough."""
    seen = events.of("k8s.oom_killed", "kernel.oom_kill", "job.memory_killed")
    killed = list(islice(_killed(objects, bool(seen)), MOST))
    slurm = not killed and any(_SLURM.search(e.text) for e in seen)
    if seen or killed:
        limits = [k.pod.cite(k.limit) for k in killed if k.limit] or [
            o.cite((*s, "containers", 0, "resources", "limits", "memory"))
            for o, s in pod_specs(objects)
            if o.get((*s, "containers", 0, "resources", "limits", "memory"))
        ]
        yield diagnosis(
            "pod.oom_killed",
            _told(killed[0]) if killed else _by_the_kernel(seen),
            seen,
            [k.pod.cite(k.reason) for k in killed],
            limits,
            events.of("k8s.container_exit"),
            events.of("dataloader.worker_killed", "dataloader.bus_error", "job.process_killed"),
            repair=Repair.CHANGE_JOB,
            subjects=[k.pod.subject for k in killed] or [e.subject for e in seen],
            commands=_OF_SLURM if slurm else _OF_PODS,
            next_observation="Whether it lives with more memory for the step (--mem)."
            if slurm
            else "Whether it lives with a higher resources.limits.memory in the template of the job's pods.",
        )


@dataclass(frozen=True, slots=True)
class _Killed:
    """A container that was killed for memory: its pod, its name, where the reason stands, and its limit."""

    pod: Object
    container: str
    reason: Path
    limit: Path


def _killed(objects: Objects, told: bool) -> Iterator[_Killed]:
    """Containers that were; one that runs again only where lines tell of it, too."""
    for pod in (p for p in objects.of("Pod") if not only_beside(p)):
        for i, status in enumerate(pod.items("status.containerStatuses")):
            for state in ("state", "lastState"):
                path = ("status", "containerStatuses", i, state, "terminated", "reason")
                if pod.get(path) == "OOMKilled" and (told or "running" not in (status.get("state") or {})):
                    yield _Killed(pod, str(status.get("name", "")), path, _limit(pod, str(status.get("name", ""))))


def _limit(pod: Object, container: str) -> Path:
    for i, told in enumerate(pod.items("spec.containers")):
        path = ("spec", "containers", i, "resources", "limits", "memory")
        if told.get("name") == container and pod.get(path):
            return path
    return ()


def _told(killed: _Killed) -> str:
    limit = f": its limit is {killed.pod.get(killed.limit)}" if killed.limit else ""
    return f"Container {killed.container} of pod {killed.pod.name} was killed because memory ran out{limit}."


def _by_the_kernel(seen: Events) -> str:
    process = next((v for name in ("process", "task") for v in seen.values(name)), "A process")
    return f"{process} was killed because memory ran out."
