"""Some ranks run and hold resources while the rest can't.

## What is wrong
Pods are placed one by one. When a job doesn't fit whole, its first pods take GPUs and wait for ranks that never come;
two such jobs block each other.

## Fix
All or nothing: Kueue with waitForPodsReady, Volcano or coscheduling PodGroups; or capacity for the whole job.

## Source
https://kueue.sigs.k8s.io/docs/tasks/manage/setup_wait_for_pods_ready/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.holders import half_started, holders
from gonogo.facts.objects import Objects
from gonogo.facts.unschedulable import unschedulable
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_HALF = re.compile(r"(?P<least>\d+) minAvailable\b.*?\b(?P<running>[1-9]\d*) Running")


@cause(
    "scheduling.partial_gang",
    refines=(
        "scheduling.insufficient_resources",
        "job.rendezvous_timeout_missing_ranks",
        "scheduling.queue_not_admitted",
    ),
    also=True,
)
def partial_gang(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where pods of one job run while others of it are Pending for want of resources that no other pod holds."""
    if held := _held_by_a_group(events, objects):
        yield held
        return
    short = [u for u in unschedulable(events) if u.insufficient]
    halves = half_started(objects)
    if not short or not halves:
        return
    if holders(objects, {r for u in short for r in u.insufficient}, halves):
        return
    job, phases = next(iter(halves.items()))
    running, pending = len(phases["Running"]), len(phases["Pending"])
    more = f"; {len(halves)} jobs hold each other up" if len(halves) > 1 else ""
    yield diagnosis(
        "scheduling.partial_gang",
        f"{running} of {running + pending} pods of {job} run and wait for {pending} that find no place{more}.",
        waiting(events),
        [p.cite("status.phase") for half in halves.values() for p in half["Pending"]],
        Events(tuple(u.event for u in short)),
        [p.cite("status.phase") for half in halves.values() for p in half["Running"]],
        repair=Repair.CHANGE_JOB,
        subjects=[p.subject for half in halves.values() for p in half["Pending"]],
        commands=("kubectl get pods -o wide --sort-by=.metadata.name",),
    )


def _held_by_a_group(events: Events, objects: Objects) -> Diagnosis | None:
    """What a gang scheduler says itself: some of a group run, others have no place."""
    halves = [
        (g, int(running))
        for g in objects.of("PodGroup")
        if str(running := g.get("status.running", 0)).isdigit() and 0 < int(running) < int(g.get("spec.minMember") or 0)
    ]
    told = Events(tuple(e for e in events.of("queue.not_admitted") if _HALF.search(e.text)))
    if not halves and not told:
        return None
    found = _HALF.search(told.first.text) if told else None
    running, least = (halves[0][1], halves[0][0].get("spec.minMember")) if halves else (0, 0)
    if found:
        running, least = int(found["running"]), found["least"]
    return diagnosis(
        "scheduling.partial_gang",
        f"{running} pods of a group of at least {least} run, and the others find no place.",
        told,
        [g.cite("status.running") for g, _ in halves],
        waiting(events),
        repair=Repair.CHANGE_JOB,
        subjects=[g.subject for g, _ in halves],
        commands=("kubectl get podgroups -A; kubectl get pods -o wide",),
    )
