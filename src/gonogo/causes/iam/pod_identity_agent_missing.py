"""Pod Identity associations exist, and the agent doesn't.

## What is wrong
Pods ask 169.254.170.23 on their node for credentials. Without the add-on eks-pod-identity-agent nobody answers there.

## Fix
Install the add-on.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("iam.pod_identity_agent_missing", refines=("iam.credentials_expired", "iam.missing_permission"), also=True)
def pod_identity_agent_missing(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where the agent does not answer; a running agent contradicts it."""
    silent = events.of("iam.pod_identity_failed")
    agents = [d for d in (*objects.of("DaemonSet"), *objects.of("Pod")) if "pod-identity-agent" in d.name]
    lists = [a for a in objects.of("answer") if isinstance(a.data.get("addons"), list)]
    absent = [a for a in lists if not any("pod-identity" in str(n) for n in a.items("addons"))]
    if silent and not agents and (absent or objects.has("DaemonSet") or not lists):
        associations = objects.of("associations")
        yield diagnosis(
            "iam.pod_identity_agent_missing",
            "Pods ask the Pod Identity agent for credentials, and none runs on their node.",
            silent,
            [a.cite("addons") for a in absent],
            [a.cite() for a in associations],
            [d.cite("metadata.name") for d in objects.of("DaemonSet")][:3],
            events.of("iam.credentials_absent"),
            repair=Repair.INSTALL_COMPONENT,
            commands=("aws eks create-addon --cluster-name <cluster> --addon-name eks-pod-identity-agent",),
        )
