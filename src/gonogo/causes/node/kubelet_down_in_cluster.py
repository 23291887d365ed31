"""A node stopped answering.

## What is wrong
The control plane hears nothing of the node's kubelet: it, the container runtime, the network or the instance is down.

## Fix
See whether the instance runs; restart its kubelet, reboot it, or replace it.

## Source
https://kubernetes.io/docs/concepts/architecture/nodes/#node-status
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed, names
from gonogo.facts.kube_nodes import ChosenNodes
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair, Status


@cause("node.kubelet_down", refines=("job.rank_stalled", "job.rank_died", "network.port_blocked"))
def kubelet_down(findings: Findings, nodes: ChosenNodes) -> Iterator[Diagnosis]:
    """Before the run by the node's condition, during it by the pod's."""
    roots = failed(findings, "NOD101", lambda f: "stopped answering" in f.message)
    lost = failed(findings, "POD104", lambda f: f.measured is None and "node stopped answering" in f.message)
    if not roots and not lost:
        return
    there = {f.subject for f in roots}
    on = [s for s in nodes.present if any(f" on {s.name} " in f.message for f in lost)]
    subjects = sorted(there | set(on))
    ids = [nodes.present[s].instance_id for s in subjects if s in nodes.present]
    about = [f.key for f in findings if f.status in (Status.FAIL, Status.UNKNOWN) and f.subject in subjects]
    links = [f.key for f in findings if f.status is Status.FAIL and f.subject.kind == "link" and (
        {f.subject.name, f.subject.to} & {s.name for s in subjects})]  # fmt: skip
    yield diagnose(
        "node.kubelet_down",
        [*roots, *lost],
        f"{names(subjects)} stopped answering the control plane.",
        repair=Repair.REBOOT_NODE,
        commands=(
            *(f"kubectl describe node {s.name}" for s in subjects[:4]),
            *(f"aws ec2 reboot-instances --instance-ids {i}" for i in ids[:4] if i),
        ),
        follows=[*about, *links],
    )
