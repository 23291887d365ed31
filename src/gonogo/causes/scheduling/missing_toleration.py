"""A taint keeps the pods off the nodes that they need.

## What is wrong
The GPU nodes carry a taint, and the pods don't tolerate it. The other nodes have no GPUs: the pods stay Pending.

## Fix
The toleration in the pod template.

## Source
https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gonogo.causes.nodes import count_of, gpu_nodes
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects, Path, pod_specs
from gonogo.facts.pools import Refusal, decisive, lines_of, refusals
from gonogo.facts.unschedulable import SYSTEM_TAINTS, Unschedulable, unschedulable, without_scale_up
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair

_FOR_TRAINING = re.compile(
    r"gpu|nvidia|neuron|accelerat|efa|rdma|infiniband|train|dedicated|capacity|reserv|\bml\b|hpc"
)

_FOR_SYSTEM = re.compile(r"critical|system|control-plane|/master|infra\b|addons?\b|monitoring")


@cause(
    "scheduling.missing_toleration",
    refines=(
        "scheduling.insufficient_resources",
        "scheduling.node_selector_matches_nothing",
        "scheduling.partial_gang",
    ),
    also=True,
)
def missing_toleration(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a taint that the scheduler names, of nodes that may have what the pod wants; not on one tolerated."""
    refused, is_sure = decisive(refusals(events), objects)
    kept_off = [r for r in refused if r.kind == "taint" and not _for_others(r.what, "")]
    if kept_off and (is_sure or not unschedulable(events)):
        yield _by_karpenter(kept_off, objects, is_sure)
        return
    unnamed = [u for u in unschedulable(events) if u.count("untolerated taint(s)")]
    if unnamed and (found := _unnamed(unnamed[-1], objects)):
        yield found
        return
    for told in (*unschedulable(events), *without_scale_up(events)):
        for (key, value), count in told.taints.items():
            tainted = [
                (n, i)
                for n in objects.of("Node")
                for i, t in enumerate(n.items("spec.taints"))
                if t.get("key") == key and t.get("effect") != "PreferNoSchedule"
            ]
            pods = [(o, s) for o, s in pod_specs(objects)]
            open_nodes = [n for n in gpu_nodes(objects) if not n.items("spec.taints")]
            if (pods and all(_tolerates(o, s, key, value) for o, s in pods)) or (
                tainted and open_nodes and not _fits(tainted)
            ):
                continue
            if told.lacking > count and not _fits(tainted) and not _meant(key, value):
                continue
            taint = f"{key}={value}" if value else key
            lacking = ", ".join(told.insufficient) if told.lacking <= told.nodes - count else ""
            yield diagnosis(
                "scheduling.missing_toleration",
                f"{count} of {told.nodes} nodes have the taint {taint}, which the pods do not tolerate"
                f"{f'; {told.lacking} others have too little {lacking}' if lacking else ''}.",
                Events((told.event,)),
                [o.cite((*s, "tolerations")) for o, s in pods],
                [n.cite(("spec", "taints", i, "key")) for n, i in tainted],
                repair=Repair.CHANGE_JOB,
                certainty=Certainty.HYPOTHESIS if _for_others(key, value) and not _fits(tainted) else None,
                subjects=[o.subject for o, _ in pods] or [n.subject for n, _ in tainted],
                commands=("kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints",),
                next_observation=f"Whether they start with this in the pod template: "
                f"tolerations: [{{key: {key}, operator: Exists}}].",
            )
            return


def _unnamed(told: Unschedulable, objects: Objects) -> Diagnosis | None:
    """A scheduler that names no taint: the one that nodes with GPUs have and the pods do not tolerate."""
    pods = list(pod_specs(objects))
    tainted = [
        (n, i, str(t.get("key")), str(t.get("value") or ""))
        for n in gpu_nodes(objects)
        for i, t in enumerate(n.items("spec.taints"))
        if t.get("effect") != "PreferNoSchedule" and not str(t.get("key")).startswith(SYSTEM_TAINTS)
    ]
    tainted = [x for x in tainted if not any(_tolerates(o, s, x[2], x[3]) for o, s in pods)]
    if not tainted:
        return None
    key = tainted[0][2]
    return diagnosis(
        "scheduling.missing_toleration",
        f"{told.count('untolerated taint(s)')} of {told.nodes} nodes have taints such as {key}, which the pods do not "
        "tolerate.",
        Events((told.event,)),
        [n.cite(("spec", "taints", i, "key")) for n, i, _, _ in tainted],
        [o.cite((*s, "tolerations")) for o, s in pods],
        repair=Repair.CHANGE_JOB,
        subjects=[n.subject for n, _, _, _ in tainted],
        commands=("kubectl get nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints",),
    )


def _by_karpenter(refused: Sequence[Refusal], objects: Objects, is_sure: bool) -> Diagnosis:
    taint = refused[0].what
    key = re.split("[=:]", taint)[0]
    told = [
        (p, (*place, i, "key"))
        for p in objects.of("NodePool", "Provisioner")
        for place in (("spec", "template", "spec", "taints"), ("spec", "taints"))
        for i, t in enumerate(p.items(place))
        if t.get("key") == key
    ]
    return diagnosis(
        "scheduling.missing_toleration",
        f"The nodes that Karpenter may make have the taint {taint}, which the pods do not tolerate.",
        lines_of(refused),
        [p.cite(path) for p, path in told],
        [o.cite((*s, "tolerations")) for o, s in pod_specs(objects)],
        repair=Repair.CHANGE_JOB,
        certainty=None if is_sure else Certainty.HYPOTHESIS,
        commands=("kubectl get nodepools -o yaml | grep -A4 taints",),
        next_observation=f"Whether nodes come with this in the pod template: "
        f"tolerations: [{{key: {key}, operator: Exists}}].",
    )


def _tolerates(one: Object, spec: Path, key: str, value: str) -> bool:
    for t in one.items((*spec, "tolerations")):
        named = t.get("key") in (key, None, "")
        exists = t.get("operator") == "Exists" or str(t.get("value", "")) == value
        if named and exists and t.get("effect") in ("NoSchedule", None, ""):
            return True
    return False


def _meant(key: str, value: str) -> bool:
    """Whether a taint by its words keeps nodes for training, and not for the system or for another kind of pod."""
    return bool(_FOR_TRAINING.search(f"{key}={value}".lower()))


def _for_others(key: str, value: str) -> bool:
    """Whether a taint by its words keeps nodes for the system, where no training would run without it either."""
    return bool(_FOR_SYSTEM.search(f"{key}={value}".lower()))


def _fits(tainted: list[tuple[Object, int]]) -> bool:
    return any(count_of(n, "nvidia.com/gpu") for n, _ in tainted)
