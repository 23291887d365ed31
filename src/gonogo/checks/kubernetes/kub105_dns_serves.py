"""The cluster's DNS has endpoints that serve.

## Why it matters
Ranks find the first of them by the name of a headless Service. Without DNS, every rank waits for a name until its
timeout, and the error is a timeout, too.

## Usual causes
- CoreDNS can't be scheduled: all nodes are tainted for GPUs
- its pods crash, or the add-on was removed

## Fix
`kubectl -n kube-system get pods -l k8s-app=kube-dns`; give CoreDNS a node without taints, or tolerations.

## Source
https://kubernetes.io/docs/tasks/administer-cluster/dns-debugging-resolution/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.kube_cluster import Dns
from gonogo.kernel import check
from gonogo.model import CLUSTER, Evidence, Finding, Status


@check("KUB105")
def dns_serves(dns: Dns) -> Iterator[Finding]:
    """Warns of one that is left: names stop with its node."""
    text = f"{dns.ready} of {dns.known} endpoints of the cluster's DNS are ready."
    status = Status.FAIL if not dns.ready else Status.WARN if dns.ready < dns.known else Status.OK
    evidence = (Evidence(text, dns.file, dns.line),) if dns.file else ()
    if not dns.slices:
        text = "There is no Service kube-system/kube-dns, so nothing serves names."
    yield Finding(status, CLUSTER, text, dns.ready, dns.known, "endpoints", evidence=evidence)
