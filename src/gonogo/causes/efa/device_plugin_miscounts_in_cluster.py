"""The advertised number of EFA adapters isn't the type's.

## What is wrong
The plugin counts RDMA devices that are not EFA, or misses some: pods that ask for the type's number don't fit, or get
devices that can't carry the traffic.

## Fix
Upgrade the plugin; where adapters are missing, look at the node group's network interfaces.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import failed, keeps_pods_out, names
from gonogo.documents.kubernetes import PodsDocument
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("efa.device_plugin_miscounts_devices", refines=("scheduling.insufficient_resources",))
def device_plugin_miscounts(findings: Findings, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """Some, and another number than the type has."""
    roots = failed(findings, "EFA101", lambda f: float(f.measured or 0) > 0)
    if not roots:
        return
    subjects = [f.subject for f in roots]
    yield keeps_pods_out(
        "efa.device_plugin_miscounts_devices",
        roots,
        f"{names(subjects)}: {'; '.join(f.message.rstrip('.') for f in roots[:4])}.",
        findings,
        pods,
        repair=Repair.INSTALL_COMPONENT,
        commands=("kubectl -n kube-system get daemonset aws-efa-k8s-device-plugin -o wide",),
        next_observation="ls /sys/class/infiniband on the node",
    )
