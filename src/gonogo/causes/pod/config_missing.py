"""A Secret or ConfigMap that the pod names isn't there.

## What is wrong
The kubelet starts no container before all Secrets and ConfigMaps that it names exist in the pod's own namespace, with
the keys that it asks for.

## Fix
Make the object in that namespace, or name the one that is there; `optional: true` where the pod can do without.

## Source
https://kubernetes.io/docs/concepts/configuration/secret/#restriction-secret-must-exist
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("pod.config_missing", also=True)
def config_missing(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the kubelet's word."""
    seen = events.of("pod.config_missing")
    if seen:
        kind = (seen.first.get("kind") or seen.first.get("holder") or "secret,configmap").lower()
        yield diagnosis(
            "pod.config_missing",
            f"The pod needs {_named(seen.first)}, which is not there.",
            seen,
            events.of("storage.mount_failed").outside(seen),
            repair=Repair.CHANGE_JOB,
            commands=(f"kubectl -n <namespace> get {kind}",),
        )


def _named(event: Event) -> str:
    if name := event.get("name"):
        return f"the {event.get('kind')} {name}"
    if key := event.get("key"):
        return f"the key {key} of {event.get('of')}"
    return f"the key {event.get('path')} of a Secret or ConfigMap"
