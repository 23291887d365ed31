"""No two operators claim the same kind of job.

## Why it matters
Training Operator v1 and MPI Operator both bring `mpijobs.kubeflow.org`, with different versions; whoever came last
decides which is served. Jobs of the other version are refused, or nobody acts on them.

## Usual causes
- a platform installs the training operator, a team the MPI operator

## Fix
Keep one: run the training operator without MPIJob (`--enable-scheme` of the other kinds), or move to the Trainer.

## Source
https://github.com/kubeflow/mpi-operator#installation
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.kube_cluster import Crds
from gonogo.facts.kube_pods import Pods
from gonogo.kernel import Skip, check
from gonogo.model import Finding, Status, Subject

CLAIMS = {"training-operator": "v1", "mpi-operator": "v2beta1"}  # operator -> the version of MPIJob that it acts on


@check("KUB104")
def operators_apart(crds: Crds, pods: Pods) -> Iterator[Finding]:
    """By the versions that are served, and by the operators' own pods."""
    crd = crds.of("kubeflow.org", "MPIJob")
    if not crd:
        raise Skip("The kind MPIJob is not installed, so nothing can claim it twice.")
    running = [name for name in CLAIMS if any(p.holds and name in p.owner for p in pods.pods)]
    subject = Subject("object", "mpijobs.kubeflow.org")
    idle = [name for name in running if CLAIMS[name] not in crd.served]
    evidence = (crd.evidence(f"mpijobs.kubeflow.org is served as {', '.join(crd.served)}"),)
    if len(running) > 1 or idle:
        text = f"MPIJob is served as {', '.join(crd.served)}; {' and '.join(running)} claim it."
        yield Finding(Status.FAIL, subject, text, len(running), 1, "operators", evidence=evidence)
    else:
        by = running[0] if running else "no operator"
        text = f"MPIJob is served as {', '.join(crd.served)}; {by} claims it."
        yield Finding(Status.OK, subject, text, len(running), 1, "operators", evidence=evidence)
