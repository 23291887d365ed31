"""Not enough free GPUs, EFA devices, memory or nodes.

## What is wrong
What the pods ask for is more than what is free on any node that they may use.

## Fix
More nodes, or other jobs ended; requests that fit one node.

## Source
https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gonogo.causes.commands import and_others
from gonogo.causes.network.symptoms import waiting
from gonogo.causes.nodes import count_of
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.holders import half_started, holders
from gonogo.facts.objects import Object, Objects
from gonogo.facts.pools import decisive, lines_of, refusals
from gonogo.facts.unschedulable import unschedulable, without_scale_up
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Evidence, Repair

_WANT = re.compile(r"Resources|ReqNodeNotAvail|Partition(?:Config|NodeLimit)|Requested node")
_DOWN = ("CrashLoopBackOff", "Error", "Pending", "ImagePullBackOff", "ErrImagePull", "Init:Error")


@cause("scheduling.insufficient_resources", also=True)
def insufficient_resources(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the scheduler's word.

    Sure of devices only where nodes are seen to offer them: else a plugin, a driver or a runtime may be at fault.
    """
    told = [u for u in unschedulable(events) if u.insufficient]
    refused, _ = decisive(refusals(events), objects)
    limited = [r for r in refused if r.kind == "size"]
    waits = Events(tuple(e for e in events.of("slurm.pending") if _WANT.match(e.get("reason") or e.get("refused"))))
    if waits and not told:
        yield diagnosis(
            "scheduling.insufficient_resources",
            f"Slurm has no nodes for the job: {waits.first.get('reason') or waits.first.get('refused')}.",
            waits,
            repair=Repair.ADD_CAPACITY,
            commands=("sinfo -N -l; scontrol show job <job>",),
        )
    down = [p for p in objects.of("Pod") if str(p.get("status.phase")) in _DOWN]
    if (ray := events.of("ray.no_fit")) and not told:
        yield diagnosis(
            "scheduling.insufficient_resources",
            f"The Ray cluster can't give what the job asks for: {ray.first.get('error')[:140]}.",
            ray,
            repair=Repair.ADD_CAPACITY,
            commands=("ray status; kubectl get raycluster -o yaml",),
            certainty=Certainty.HYPOTHESIS if down else None,
            next_observation="Why the workers that there are do not run: their logs." if down else "",
        )
    if limited and not told:
        yield diagnosis(
            "scheduling.insufficient_resources",
            f"Karpenter may make no node that is large enough: {limited[0].what[:140]}.",
            lines_of(limited),
            repair=Repair.ADD_CAPACITY,
            commands=("kubectl get nodepools -o yaml | grep -A6 limits",),
        )
    full = [u for u in without_scale_up(events) if u.count("max node group size") or u.count("max limit reached")]
    if full and not told:
        apart = any(u.unmatched for u in unschedulable(events))  # nor do nodes of the full group match, if it has any
        yield diagnosis(
            "scheduling.insufficient_resources",
            "The node groups that could take the pod are as large as they may be.",
            Events(tuple(u.event for u in full)),
            repair=Repair.ADD_CAPACITY,
            commands=("aws eks describe-nodegroup --cluster-name <cluster> --nodegroup-name <node-group>",),
            certainty=Certainty.HYPOTHESIS if apart else None,
            next_observation="Whether the full node group is the one that the pod's selector means: its labels."
            if apart
            else "",
        )
    if told:
        last = told[-1]
        short = ", ".join(f"{r} on {n} nodes" for r, n in last.insufficient.items())
        offered = [
            n.cite(("status", "allocatable", r))
            for n in objects.of("Node")
            for r in last.insufficient
            if count_of(n, r)
        ]
        taken = holders(objects, last.insufficient, half_started(objects))
        guess = not offered and any("/" in r or r.startswith("hugepages-") for r in last.insufficient)
        yield diagnosis(
            "scheduling.insufficient_resources",
            f"Of {last.nodes} nodes none has what a pod asks for: too little {short}{_by_whom(taken)}.",
            Events(tuple(u.event for u in told)),
            [_held(one, resource) for one, resource in taken],
            [p.cite("status.phase") for p in objects.of("Pod") if p.get("status.phase") == "Pending"],
            offered,
            waiting(events),
            repair=Repair.ADD_CAPACITY,
            commands=("kubectl describe nodes | grep -A8 'Allocated resources'",),
            certainty=Certainty.HYPOTHESIS if guess else None,
            next_observation="What the nodes offer and who has it: kubectl describe nodes (Allocatable, Allocated "
            "resources), and the device plugin's pods and logs."
            if guess
            else "",
        )


def _held(one: Object, resource: str) -> Evidence:
    if one.kind == "Pod":
        return one.cite("spec.containers", f"{resource} is taken by {one.name}")
    return one.cite(("status", "allocatable", resource), f"{resource} is taken by {_whose(one)} on {one.name}")


def _by_whom(taken: Sequence[tuple[Object, str]]) -> str:
    if not taken:
        return ""
    one, resource = taken[0]
    whom = one.name if one.kind == "Pod" else f"{_whose(one)} on {one.name}"
    return f"; {resource} is taken by {whom}"


def _whose(node: Object) -> str:
    """The pods of a node, but for what every node has."""
    told = [p for p in node.items("status.pods") if p.get("namespace") != "kube-system"]
    return and_others(str(p.get("name")) for p in told) or "the pods"
