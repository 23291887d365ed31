"""NUMA alignment can't be met.

## What is wrong
With topologyManagerPolicy single-numa-node all CPUs, memory and GPUs of a pod must come from one socket. Enough
GPUs are free, but spread over both: the kubelet rejects the pod after it was scheduled.

## Fix
Policy best-effort or restricted, requests that fit one socket, or whole nodes.

## Source
https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("scheduling.topology_manager_numa_fragmentation", also=True)
def topology_manager_numa_fragmentation(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the kubelet's word."""
    seen = events.of("k8s.topology_rejected")
    if seen:
        policies = [
            (o, "topologyManagerPolicy")
            for o in (*objects.of("kubeletconfig"), *objects.of("KubeletConfiguration"))
            if o.get("topologyManagerPolicy")
        ]
        yield diagnosis(
            "scheduling.topology_manager_numa_fragmentation",
            f"The kubelet can't align the pod's "
            f"devices{f' (policy {policies[0][0].get(policies[0][1])})' if policies else ''}.",
            [p.cite("status.reason") for p in objects.of("Pod") if "Topology" in str(p.get("status.reason", ""))],
            seen,
            [o.cite(path) for o, path in policies],
            events.of("host.socket_devices"),
            repair=Repair.CHANGE_CLUSTER,
            commands=(
                "kubectl get --raw /api/v1/nodes/<node>/proxy/configz | jq .kubeletconfig.topologyManagerPolicy",
            ),
        )
