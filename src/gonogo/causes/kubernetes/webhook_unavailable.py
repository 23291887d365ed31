"""An admission webhook doesn't answer.

## What is wrong
The API server asks the webhook before it makes an object. When its pods are down, or the control plane can't reach
their port, nothing of its kinds can be made.

## Fix
The webhook's pods and Service; its port open from the cluster's security group (9443, 8443, 15017).

## Source
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("kubernetes.webhook_unavailable", also=True)
def webhook_unavailable(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the API server's word."""
    seen = events.of("k8s.webhook_failed")
    if seen:
        name = seen.first.get("webhook")
        empty = [
            e
            for e in objects.of("Endpoints")
            if not e.items("subsets") and str(e.get("addresses", "<none>")) == "<none>"
        ]
        yield diagnosis(
            "kubernetes.webhook_unavailable",
            f"The webhook {name} doesn't answer.",
            seen,
            [e.cite("subsets" if not e.is_table else ()) for e in empty],
            [
                p.cite("status.phase")
                for p in objects.of("Pod")
                if p.get("status.phase") not in ("Running", "Succeeded")
            ],
            repair=Repair.RESTART_PROCESS,
            commands=(
                "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
                "kubectl get endpoints -A | grep '<none>'",
            ),
        )
