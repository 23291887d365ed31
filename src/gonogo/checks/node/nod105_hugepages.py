"""Nodes with EFA offer huge pages.

## Why it matters
libfabric's EFA provider takes its buffers from 2 MiB pages. A pod that asks for huge pages isn't scheduled where the
kubelet offers none, and one that doesn't ask may fail at fork.

## Usual causes
- `vm.nr_hugepages` was set after the kubelet started: it reads the number once
- an AMI that sets none (Bottlerocket needs a setting of its own)

## Fix
Set `vm.nr_hugepages` at boot (5128 pages of 2 MiB, as the EKS AMI has) and restart the kubelet.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.crowd import crowd
from gonogo.facts.kube_nodes import ChosenNodes, expected, some
from gonogo.facts.kube_quantity import EFA, HUGEPAGES, shown
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Skip, check
from gonogo.model import Finding, Status
from gonogo.plan import Plan

GUIDE_BYTES = 5120 << 20


@check("NOD105")
def hugepages(nodes: ChosenNodes, workload: Workload, plan: Plan) -> Iterator[Finding]:
    """Fails where the pod asks for more than a node offers, warns where EFA nodes offer less than the guide says."""
    yield from crowd(_each(nodes, workload, plan))


def _each(nodes: ChosenNodes, workload: Workload, plan: Plan) -> Iterator[Finding]:
    asked = workload.requests.get(HUGEPAGES, 0.0)
    looked = False
    for subject, node in some(nodes).items():
        efa = expected(node, EFA, plan)[0] and plan.fabric.kind != "tcp"
        if not asked and not efa:
            continue
        looked = True
        offered = node.allocatable.get(HUGEPAGES, 0.0)
        need, source = (asked, "the pod's request") if asked else (GUIDE_BYTES, "EKS guide")
        status = Status.OK if offered >= need else Status.FAIL if asked else Status.WARN
        text = (
            f"{node.name} offers {shown(HUGEPAGES, offered)} of 2 MiB huge pages; {shown(HUGEPAGES, need)} are needed."
        )
        yield Finding(
            status, subject, text, offered, need, "bytes", source,
            (node.evidence(f"{node.name}: allocatable {HUGEPAGES} {shown(HUGEPAGES, offered)}"),),
        )  # fmt: skip
    if not looked:
        raise Skip("No chosen node has EFA, and the pods ask for no huge pages.")
