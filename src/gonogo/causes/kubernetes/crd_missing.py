"""The operator for that kind isn't installed.

## What is wrong
The manifest's kind is a custom one, and no CRD for it is in the cluster.

## Fix
Install the operator (Kubeflow Trainer, MPI operator, JobSet, Kueue).

## Source
https://www.kubeflow.org/docs/components/trainer/operator-guides/installation/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("kubernetes.crd_missing", also=True)
def crd_missing(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on kubectl's or Helm's word for a kind that is not Kubernetes' own."""
    seen = Events(tuple(e for e in events.of("k8s.kind_unknown") if e.get("kind") or e.get("resource")))
    if seen:
        name = next(iter((*seen.values("kind"), *seen.values("resource"))), "")
        version = next(iter(seen.values("version")), "")
        yield diagnosis(
            "kubernetes.crd_missing",
            f"The cluster does not know {name}{f' of {version}' if version else ''}: its operator isn't installed.",
            seen,
            [c.cite("metadata.name") for c in objects.of("CustomResourceDefinition")][:3],
            repair=Repair.INSTALL_COMPONENT,
            commands=("kubectl api-resources | grep -i -e kubeflow -e jobset -e kueue",),
        )
