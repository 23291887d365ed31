"""The pods have no security groups apart from their nodes'.

## Why it matters
A SecurityGroupPolicy gives the pods that it selects an interface with groups of its own. In mode strict, which is the
default, those groups alone decide: unless they let each other in on all ports, ranks can't connect, and unless they
let DNS and the kubelet through, they find no name and never become ready.

## Usual causes
- a policy of the namespace that was written for a database client
- groups that name ports, while ranks connect on ports that the kernel hands out

## Fix
Let the pods' groups in from themselves, all ports, both ways, and from the nodes' group; or leave training pods out of
the policy: `kubectl get securitygrouppolicies -A`.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/security-groups-pods-deployment.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.documents.kubernetes import AdmissionDocument
from gonogo.facts.kube_cni import AGENT, Cni
from gonogo.kernel import Skip, check
from gonogo.model import CLUSTER, Evidence, Finding, Status

BRANCH = "vpc.amazonaws.com/pod-eni"
"""What admission adds to the requests of a pod that a policy selects."""


@check("CNI103")
def pod_security_groups(cni: Cni, admission: AdmissionDocument) -> Iterator[Finding]:
    """By what admission made of one pod, asked with a dry run. What the groups allow is not the cluster's to tell."""
    if not cni.on("ENABLE_POD_ENI"):
        raise Skip(f"{AGENT} gives no pod security groups of its own (ENABLE_POD_ENI is not true).")
    if not admission.admitted:
        raise Skip("The pods are not admitted (POD102).")
    count = int(admission.limits.get(BRANCH, "0") or 0) if admission.limits.get(BRANCH, "0").isdigit() else 1
    mode = "strict" if cni.isolates_branches else "standard"
    evidence = (
        Evidence(f"admitted pod: {BRANCH}={count}", admission.file),
        cni.evidence("ENABLE_POD_ENI", "POD_SECURITY_GROUP_ENFORCING_MODE"),
    )
    if not count:
        yield Finding(Status.OK, CLUSTER, "0 of the run's pods get security groups of their own.", 0, 0,
                      evidence=evidence)  # fmt: skip
        return
    alone = " alone decide who reaches them" if mode == "strict" else " count as well as their nodes'"
    text = f"A SecurityGroupPolicy gives the pods security groups of their own, which{alone} (mode {mode})."
    yield Finding(Status.WARN, CLUSTER, text, count, 0, evidence=evidence)
