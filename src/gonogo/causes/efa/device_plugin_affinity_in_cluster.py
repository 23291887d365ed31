"""The EFA device plugin's list leaves the instance type out.

## What is wrong
The plugin's DaemonSet has an affinity for the instance types that its release knew. On this type it wants no pod: 0
desired, 0 ready, no error.

## Fix
Upgrade the chart to a release that lists the type, or add the type to its affinity.

## Source
https://github.com/aws/eks-charts/tree/master/stable/aws-efa-k8s-device-plugin
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import failed, keeps_pods_out, names
from gonogo.documents.kubernetes import PodsDocument
from gonogo.facts.kube_nodes import ChosenNodes
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("efa.device_plugin_affinity_excludes_instance_type", refines=("efa.device_plugin_missing",
       "scheduling.insufficient_resources"))  # fmt: skip
def device_plugin_affinity(findings: Findings, nodes: ChosenNodes, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """By the affinity itself, not by the count of pods."""
    roots = failed(findings, "EFA102", lambda f: "affinity does not admit" in f.message)
    if not roots:
        return
    subjects = [f.subject for f in roots]
    types = sorted({nodes.present[s].type_name for s in subjects if s in nodes.present})
    counts = failed(findings, "EFA101", lambda f: f.subject in subjects)
    yield keeps_pods_out(
        "efa.device_plugin_affinity_excludes_instance_type",
        [*roots, *counts],
        f"The EFA device plugin's affinity leaves out {', '.join(types)}, so {names(subjects)} offer no EFA.",
        findings,
        pods,
        repair=Repair.INSTALL_COMPONENT,
        commands=("helm upgrade --install efa eks/aws-efa-k8s-device-plugin -n kube-system",),
    )
