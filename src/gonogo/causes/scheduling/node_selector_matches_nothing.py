"""The pods' selector or affinity fits no node.

## What is wrong
A label in nodeSelector or nodeAffinity is on no node: misspelt, of an old name, or of a node group that is gone.

## Fix
A label that nodes have (`kubectl get nodes --show-labels`).

## Source
https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects, pod_specs
from gonogo.facts.pools import Refusal, decisive, lines_of, refusals
from gonogo.facts.unschedulable import unschedulable, without_scale_up
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("scheduling.node_selector_matches_nothing", refines=("scheduling.insufficient_resources",), also=True)
def node_selector_matches_nothing(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where all nodes but tainted system ones don't match, or nodes are known and none has the label.

    Where an autoscaler makes nodes as they are needed, its word counts, and not what the present ones lack.
    """
    refused, _ = decisive(refusals(events), objects)
    if refused:
        if {r.kind for r in refused} == {"label"} and not any(u.insufficient for u in unschedulable(events)):
            yield _by_karpenter(refused)
        return
    added = [u for u in without_scale_up(events) if u.unmatched < u.nodes]
    for told in unschedulable(events):
        unmatched = told.unmatched
        if not unmatched:
            continue
        nodes = [n for n in objects.of("Node") if n.dict("metadata.labels")]
        wanted = [
            (o, (*s, "nodeSelector", k), k, str(v))
            for o, s in pod_specs(objects)
            for k, v in o.dict((*s, "nodeSelector")).items()
        ]
        absent = [
            w for w in wanted if nodes and not any(str(n.dict("metadata.labels").get(w[2], "")) == w[3] for n in nodes)
        ]
        others = told.nodes - unmatched - told.count("control-plane") - told.count("untolerated taint {node-role")
        comes = added or events.of("k8s.scale_up")
        if (absent and not comes) or (others <= 0 and not told.insufficient and not comes):
            label = f"{absent[0][2]}={absent[0][3]}" if absent else "what the pods select"
            yield diagnosis(
                "scheduling.node_selector_matches_nothing",
                f"No node has {label}: {unmatched} of {told.nodes} nodes don't match.",
                Events((told.event,)),
                [o.cite(path) for o, path, _, _ in absent or wanted],
                [n.cite("metadata.labels") for n in nodes[:2]],
                repair=Repair.CHANGE_JOB,
                subjects=[o.subject for o, _, _, _ in absent or wanted],
                commands=("kubectl get nodes --show-labels",),
            )
            return


def _by_karpenter(refused: Sequence[Refusal]) -> Diagnosis:
    return diagnosis(
        "scheduling.node_selector_matches_nothing",
        f"No node that Karpenter may make fits the pod: {refused[0].what[:140]}.",
        lines_of(refused),
        repair=Repair.CHANGE_JOB,
        commands=("kubectl get nodepools -o yaml",),
    )
