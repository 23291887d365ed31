"""Cluster DNS doesn't answer.

## What is wrong
CoreDNS has no running pod, or port 53 is closed on the way to it: every name fails, not one.

## Fix
CoreDNS's pods; UDP and TCP 53 between the nodes.

## Source
https://kubernetes.io/docs/tasks/administer-cluster/dns-debugging-resolution/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("kubernetes.dns_down", refines=("job.rendezvous_dns_not_ready", "job.master_addr_wrong"), also=True)
def dns_down(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where the server is silent, or CoreDNS does not run while names fail."""
    silent = events.of("dns.server_silent")
    unknown = events.of("dns.name_unknown")
    pods = [p for p in objects.of("Pod") if "coredns" in p.name or "kube-dns" in p.name]
    down = [
        p for p in pods if str(p.get("status.phase")) != "Running" or str(p.get("status.ready", "1/1")).startswith("0/")
    ]
    rows = [d for d in objects.of("Deployment", "Endpoints") if d.name in ("coredns", "kube-dns") and _is_empty(d)]
    if (
        (down and len(down) == len(pods) and (silent or unknown))
        or ((silent or unknown) and rows)
        or (silent and not pods and unknown)
    ):
        yield diagnosis(
            "kubernetes.dns_down",
            "Cluster DNS doesn't answer: no CoreDNS pod runs." if down else "Cluster DNS doesn't answer.",
            silent,
            unknown,
            [p.cite("status.phase") for p in down],
            [d.cite("status.readyReplicas" if d.kind == "Deployment" else ()) for d in rows],
            repair=Repair.RESTART_PROCESS,
            subjects=[p.subject for p in down],
            commands=(
                "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide",
                "kubectl -n kube-system rollout restart deployment coredns",
            ),
        )


def _is_empty(one: Object) -> bool:
    if one.kind == "Deployment":
        return not one.get("status.readyReplicas") and one.get("status.replicas") is not None
    return not one.items("subsets") and str(one.get("addresses", "<none>")) == "<none>"
