"""There is no room for all pods.

## What is wrong
Fewer nodes than pods have the GPUs, adapters, memory or processors free that each pod asks for.

## Fix
End what holds them, ask for less, or add nodes.

## Source
https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, follows
from gonogo.documents.kubernetes import PodsDocument
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("scheduling.insufficient_resources")
def insufficient_resources(findings: Findings, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """What holds them is in the evidence."""
    roots = failed(findings, "SCH103")
    if not roots:
        return
    about = [f for f in roots if f.subject.kind == "node"]
    holders = [e for f in about for e in f.evidence if " holds " in e.text]
    first = next((f.message for f in roots if f.subject.kind == "cluster"), roots[0].message)
    held = f" {holders[0].text}." if holders else ""
    yield diagnose(
        "scheduling.insufficient_resources",
        roots,
        first + held,
        repair=Repair.ADD_CAPACITY,
        commands=[f"kubectl get pods -A --field-selector spec.nodeName={f.subject.name}" for f in about[:4]],
        follows=follows(findings, pods, "Unschedulable"),
    )
