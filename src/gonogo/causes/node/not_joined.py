"""Instances run and never become nodes.

## What is wrong
The kubelet can't reach the API server, isn't allowed to register, or has the wrong cluster's name, endpoint or
certificate in its user data.

## Fix
What the kubelet's log says: endpoint and certificate authority, access entry, routes and rules.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html#worker-node-fail
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair


@cause("node.not_joined", also=True)
def not_joined(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the node group's word, or the kubelet's."""
    seen = events.of("kubelet.not_joined", "kubelet.register_refused")
    if seen:
        unborn = any("LaunchFailures" in str(g.items("health.issues")) for g in objects.of("nodegroup"))
        refused = all("forbidden" in e.text for e in seen)
        nobody = "Unauthorized" in " ".join(seen.values("error"))
        health = [g.cite("health.issues") for g in objects.of("nodegroup") if g.items("health.issues")]
        yield diagnosis(
            "node.not_joined",
            "Instances run and do not become nodes: the API server does not accept their credentials (Unauthorized)."
            if nobody
            else "Instances run and do not become nodes.",
            seen,
            health,
            events.of("kubelet.api_error", "k8s.api_unreachable"),
            repair=Repair.CHANGE_CLUSTER,
            explains=events.of("cni.not_ready") if nobody else None,
            certainty=Certainty.HYPOTHESIS if refused or unborn else None,
            next_observation="Whether the nodes' role has an access entry of type EC2_LINUX, or a line in aws-auth."
            if nobody
            else "What the kubelet and EC2 say: journalctl -u kubelet, the group's scaling activities.",
            commands=(
                "aws eks list-access-entries --cluster-name <cluster>",
                "kubectl -n kube-system get configmap aws-auth -o yaml",
            )
            if nobody
            else (
                "journalctl -u kubelet -n 100  # on the instance",
                "aws eks describe-cluster --name <cluster> --query cluster.endpoint",
            ),
        )
