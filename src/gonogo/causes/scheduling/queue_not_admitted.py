"""A queue holds the job.

## What is wrong
Kueue (or Volcano) admits the job only when its quota has room for all of it, and its queue exists and is active.

## Fix
Quota in the ClusterQueue, the right queue's name on the job, or patience.

## Source
https://kueue.sigs.k8s.io/docs/tasks/troubleshooting/troubleshooting_jobs/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.unschedulable import unschedulable
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair

_GANG = re.compile(r"(?i)pod ?group is not ready")


@cause("scheduling.queue_not_admitted", refines=("scheduling.insufficient_resources",), also=True)
def queue_not_admitted(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the queue's word; a later admission contradicts it."""
    limited = Events(
        tuple(
            e
            for e in events.of("slurm.pending")
            if re.match("QOS|Assoc|Job violates", e.get("reason") or e.get("refused"))
        )
    )
    if limited:
        yield diagnosis(
            "scheduling.queue_not_admitted",
            f"A limit of Slurm's holds the job: {limited.first.get('reason') or limited.first.get('refused')}.",
            limited,
            repair=Repair.CHANGE_JOB,
            commands=("sacctmgr show qos,assoc; scontrol show job <job>",),
        )
        return
    seen = events.of("queue.not_admitted")
    if not seen or _admitted(events, objects):
        return
    held = [
        (w, i)
        for w in objects.of("Workload")
        for i, c in enumerate(w.items("status.conditions"))
        if c.get("type") in ("QuotaReserved", "Admitted") and c.get("status") == "False"
    ]
    gang = Events(tuple(e for e in seen if _GANG.match(e.get("error"))))
    if len(gang) == len(seen) and not held and not objects.of("PodGroup"):
        if not unschedulable(events):
            yield _gang_waits(gang)
        return
    suspended = [o for o in objects.all if o.get("spec.suspend") is True or o.get("spec.runPolicy.suspend") is True]
    yield diagnosis(
        "scheduling.queue_not_admitted",
        f"The queue holds the job: {seen.first.get('error')[:140]}.",
        seen,
        [w.cite(("status", "conditions", i, "message")) for w, i in held],
        [o.cite("spec.suspend" if o.get("spec.suspend") is True else "spec.runPolicy.suspend") for o in suspended],
        [q.cite("spec") for q in objects.of("ClusterQueue")],
        repair=Repair.ADD_CAPACITY,
        subjects=[w.subject for w, _ in held],
        commands=("kubectl get workloads,clusterqueues -o wide; kubectl describe workload",),
    )


def _gang_waits(gang: Events) -> Diagnosis:
    """The gang's own word counts its pods and does not say what they lack."""
    return diagnosis(
        "scheduling.queue_not_admitted",
        f"Volcano does not start the gang: {gang.first.get('error')[:140]}.",
        gang,
        repair=Repair.ADD_CAPACITY,
        commands=("kubectl get podgroups.scheduling.volcano.sh,queues.scheduling.volcano.sh -A -o wide",),
        certainty=Certainty.HYPOTHESIS,
        next_observation="Whether the queue or the nodes have no room: kubectl describe "
        "podgroups.scheduling.volcano.sh, the pods' own FailedScheduling events, and the scheduler's log.",
    )


def _admitted(events: Events, objects: Objects) -> bool:
    admitted = any(
        c.get("type") == "Admitted" and c.get("status") == "True"
        for w in objects.of("Workload")
        for c in w.items("status.conditions")
    )
    return admitted or bool(events.of("queue.admitted"))
