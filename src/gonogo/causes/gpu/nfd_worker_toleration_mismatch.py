"""Feature discovery doesn't tolerate the GPU nodes' taint, so their labels never come.

## What is wrong
The device plugin selects nodes by labels that node feature discovery sets. Its workers don't run on the tainted GPU
nodes, and the plugin's DaemonSet wants none.

## Fix
The taint's own key and value (or operator Exists) in the workers' tolerations.

## Source
https://github.com/NVIDIA/k8s-device-plugin
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.nodes import count_of, daemonsets, gpu_nodes
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.unschedulable import unschedulable
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause(
    "gpu.nfd_worker_toleration_mismatch",
    refines=("gpu.device_plugin_missing", "scheduling.insufficient_resources"),
    also=True,
)
def nfd_worker_toleration_mismatch(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a discovery DaemonSet tolerates no taint of a GPU node that offers no GPUs."""
    for worker in daemonsets(objects, "feature-discovery", "nfd"):
        if worker.is_table or "gpu-feature" in worker.name:
            continue
        tolerations = worker.items("spec.template.spec.tolerations")
        for n in gpu_nodes(objects):
            for i, taint in enumerate(n.items("spec.taints")):
                if (
                    taint.get("effect") == "NoSchedule"
                    and not any(_fits(t, taint) for t in tolerations)
                    and not count_of(n, "nvidia.com/gpu")
                ):
                    yield diagnosis(
                        "gpu.nfd_worker_toleration_mismatch",
                        f"DaemonSet {worker.name} does not tolerate {taint.get('key')}={taint.get('value', '')} "
                        f"of {n.name}: "
                        "the node gets no labels, and the device plugin does not run there.",
                        [worker.cite(("spec", "template", "spec", "tolerations"))],
                        [n.cite(("spec", "taints", i))],
                        [d.cite() for d in daemonsets(objects, "device-plugin") if d.is_table],
                        Events(tuple(u.event for u in unschedulable(events))),
                        repair=Repair.INSTALL_COMPONENT,
                        subjects=[n.subject],
                        commands=(
                            f"kubectl get daemonset -A | grep -e discovery -e device-plugin; kubectl describe "
                            f"node {n.name}",
                        ),
                    )
                    return


def _fits(toleration: dict[str, str], taint: dict[str, str]) -> bool:
    named = toleration.get("key") in (taint.get("key"), None, "")
    value = toleration.get("operator") == "Exists" or str(toleration.get("value", "")) == str(taint.get("value", ""))
    return named and value and toleration.get("effect") in (taint.get("effect"), None, "")
