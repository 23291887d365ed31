"""The pods don't tolerate a taint of the nodes.

## What is wrong
The nodes carry a taint, so that only pods with a toleration for it come; these have none, and stay pending.

## Fix
Add the toleration to the job's pod template (in a plan: `pod.tolerations`), or remove the taint.

## Source
https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, follows, names
from gonogo.documents.kubernetes import PodsDocument
from gonogo.facts.kube_nodes import ChosenNodes
from gonogo.facts.kube_pods import DAEMON_TOLERATIONS
from gonogo.facts.kube_select import untolerated
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("scheduling.missing_toleration", refines=("scheduling.insufficient_resources",))
def missing_toleration(
    findings: Findings, nodes: ChosenNodes, workload: Workload, pods: PodsDocument | None
) -> Iterator[Diagnosis]:
    """One for all nodes, with the taints that are in the way."""
    roots = failed(findings, "SCH102")
    if not roots:
        return
    subjects = {f.subject for f in roots}
    known = [*workload.tolerations, *DAEMON_TOLERATIONS]
    taints = {t for s in subjects if s in nodes.present for t in untolerated(known, nodes.present[s].taints)}
    shown = ", ".join(sorted(map(str, taints)))
    free = len(nodes) - len(subjects)
    reach = "and is not stopped by it" if free >= workload.count else f"so {free} of {workload.count} pods find a node"
    yield diagnose(
        "scheduling.missing_toleration",
        roots,
        f"{len(subjects)} of {len(nodes)} nodes ({names(sorted(subjects))}) carry {shown}, which the pods do not "
        f"tolerate, {reach}.",
        repair=Repair.CHANGE_JOB,
        commands=(
            *(f"kubectl taint nodes {s.name} {t.key}-" for s in sorted(subjects)[:4] for t in sorted(taints, key=str)),
        ),
        follows=follows(findings, pods, "Unschedulable"),
        next_observation="In the pod template instead: "
        + ", ".join(f"tolerations: [{{key: {t.key}, operator: Exists}}]" for t in taints)
        + ".",
    )
