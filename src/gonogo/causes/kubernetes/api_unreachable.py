"""The API server can't be reached.

## What is wrong
Its address, or the way to it, is wrong from where this ran; or it is down.

## Fix
The kubeconfig's server, the network, the control plane's health.

## Source
https://kubernetes.io/docs/tasks/debug/debug-cluster/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("kubernetes.api_unreachable", also=True)
def api_unreachable(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on kubectl's or a component's word, unless it got no credentials and never asked."""
    seen = Events(tuple(e for e in events.of("k8s.api_unreachable") if "getting credentials" not in e.text))
    if seen:
        yield diagnosis(
            "kubernetes.api_unreachable",
            "The API server can't be reached.",
            seen,
            repair=Repair.CHANGE_NETWORK_CONFIG,
            commands=("kubectl cluster-info", "curl -k https://<server>/healthz"),
        )
