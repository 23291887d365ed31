"""Who has what a pending pod lacks: half of its own job, or pods that are no part of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from gonogo.facts.objects import Object, Objects, requests

Phases = Mapping[str, list[Object]]
_LABELS = (
    "jobset.sigs.k8s.io/jobset-name",
    "training.kubeflow.org/job-name",
    "job-name",
    "batch.kubernetes.io/job-name",
)
_ROLE = re.compile(r"(?:-(?:master|worker|launcher|chief|ps|node|rank))?(?:-\d+)*(?:-[a-z0-9]{5})?$")


def half_started(objects: Objects) -> dict[str, Phases]:
    """Jobs of which some pods run while others are Pending: job -> phase -> its pods."""
    jobs: dict[str, dict[str, list[Object]]] = {}
    for pod in objects.of("Pod"):
        jobs.setdefault(_job(pod), {}).setdefault(str(pod.get("status.phase")), []).append(pod)
    return {job: phases for job, phases in jobs.items() if phases.get("Running") and phases.get("Pending")}


def holders(objects: Objects, resources: Collection[str], jobs: Mapping[str, Phases]) -> list[tuple[Object, str]]:
    """Pods and nodes that show some of a resource taken by pods of none of these jobs, and the resource."""
    own = {p.name for phases in jobs.values() for pods in phases.values() for p in pods}
    found = []
    for pod in objects.of("Pod"):
        if not pod.is_table and pod.get("status.phase") == "Running" and pod.name not in own:
            found += [(pod, r) for r in resources if requests(pod, ("spec",), r)]
    for node in objects.of("Node"):
        there = {str(p.get("name")) for p in node.items("status.pods")}
        if there and not there & own:
            taken = {r: str(node.get(("status", "allocated", r), "0")) for r in resources if "/" in r}
            found += [(node, r) for r, count in taken.items() if count.isdigit() and int(count)]
    return found


def _job(pod: Object) -> str:
    labels = pod.dict("metadata.labels")
    return next((str(labels[key]) for key in _LABELS if key in labels), _ROLE.sub("", pod.name))
