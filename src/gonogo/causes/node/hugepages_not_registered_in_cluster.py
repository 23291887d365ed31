"""The node offers fewer huge pages than the pods ask for.

## What is wrong
The kubelet counts huge pages once, when it starts. They were set later, or not at all.

## Fix
Set `vm.nr_hugepages` before the kubelet starts, then restart it.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import failed, keeps_pods_out, names
from gonogo.documents.kubernetes import PodsDocument
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("node.hugepages_not_registered", refines=("scheduling.insufficient_resources",))
def hugepages_not_registered(findings: Findings, pods: PodsDocument | None) -> Iterator[Diagnosis]:
    """Only where pods ask for them."""
    if roots := failed(findings, "NOD105"):
        subjects = [f.subject for f in roots]
        yield keeps_pods_out(
            "node.hugepages_not_registered",
            roots,
            f"{names(subjects)}: {roots[0].message}",
            findings,
            pods,
            repair=Repair.CHANGE_CLUSTER,
            commands=("sysctl -w vm.nr_hugepages=5128 && systemctl restart kubelet",),
        )
