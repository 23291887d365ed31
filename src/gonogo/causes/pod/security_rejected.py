"""Pod Security or an admission policy rejects the pods.

## What is wrong
The namespace's policy does not allow something in the pod spec (host namespaces, hostPath, privileges), so no pod is
made.

## Fix
Remove what isn't needed from the spec, or a namespace with another level.

## Source
https://kubernetes.io/docs/concepts/security/pod-security-admission/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("pod.security_rejected", also=True)
def security_rejected(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a refusal; warnings of `warn` and `audit` are none."""
    seen = Events(
        tuple(
            e
            for e in events.of("pod.security_rejected")
            if not re.search(r"(?i)^\s*warning: would violate|would violate", e.text)
        )
    )
    if seen:
        first = seen.first
        yield diagnosis(
            "pod.security_rejected",
            f"The pods are rejected: {(first.get('why') or first.get('reason') or first.get('error'))[:160]}",
            seen,
            [
                n.cite(("metadata", "labels", "pod-security.kubernetes.io/enforce"))
                for n in objects.of("Namespace")
                if n.get(("metadata", "labels", "pod-security.kubernetes.io/enforce"))
            ],
            repair=Repair.CHANGE_JOB,
            commands=("kubectl get namespace <namespace> --show-labels",),
        )
