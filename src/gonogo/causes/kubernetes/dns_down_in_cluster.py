"""Cluster DNS doesn't answer.

## What is wrong
No endpoint of the cluster's DNS is ready, so no pod finds another by name.

## Fix
See why CoreDNS's pods aren't ready; they may have no node without taints.

## Source
https://kubernetes.io/docs/tasks/administer-cluster/dns-debugging-resolution/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.cluster import diagnose, failed
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair, Status


@cause("kubernetes.dns_down", refines=("job.rendezvous_dns_not_ready", "network.name_unresolved"))
def dns_down(findings: Findings) -> Iterator[Diagnosis]:
    """With the names that agents could not resolve, if agents ran."""
    roots = failed(findings, "KUB105")
    if not roots:
        return
    names = failed(findings, "NET003")
    waiting = [f.key for f in findings if names and f.status in (Status.UNKNOWN, Status.FAIL)
               and f.check.startswith(("NET00", "LNK", "COL", "TRN", "JOB"))]  # fmt: skip
    yield diagnose(
        "kubernetes.dns_down",
        [*roots, *names],
        f"{roots[0].message} Pods find no name.",
        repair=Repair.INSTALL_COMPONENT,
        commands=(
            "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide",
            "kubectl -n kube-system rollout restart deployment/coredns",
        ),
        follows=waiting,
    )
