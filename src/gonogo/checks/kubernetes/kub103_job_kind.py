"""The API serves the kind of job that the plan names.

## Why it matters
Operators bring the kinds that trainings are written in. Where the kind isn't installed, or only in another version,
`kubectl apply` says "no matches for kind", after everything else was set up.

## Usual causes
- the operator isn't installed
- the manifest is for another generation: MPIJob v1 against v2beta1, PyTorchJob against TrainJob

## Fix
Install the operator that serves the version, or write the manifest for the one that is there.

## Source
https://www.kubeflow.org/docs/components/trainer/legacy-v1/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.documents.kubernetes import Scope
from gonogo.facts.kube_cluster import Crds
from gonogo.kernel import Skip, check
from gonogo.model import Finding, Status, Subject
from gonogo.plan import Plan

VERSIONS = {  # kind -> group, and the versions that trainings are written for
    "JobSet": ("jobset.x-k8s.io", ("v1alpha2",)),
    "PyTorchJob": ("kubeflow.org", ("v1",)),
    "TrainJob": ("trainer.kubeflow.org", ("v1alpha1", "v2alpha1")),
    "MPIJob": ("kubeflow.org", ("v2beta1",)),
}


@check("KUB103")
def job_kind(crds: Crds, plan: Plan, scope: Scope) -> Iterator[Finding]:
    """Of the user's own manifest if one is given, with its version; else of the plan."""
    api, _, kind = scope.template_kind.rpartition("/")
    group, _, version = api.partition("/")
    if not kind:
        kind = plan.job.kind
    if kind not in VERSIONS:
        raise Skip(f"{kind} is a kind that every cluster serves.")
    group = group or VERSIONS[kind][0]
    wanted = (version,) if version else VERSIONS[kind][1]
    subject = Subject("object", f"{kind}.{group}")
    crd = crds.of(group, kind)
    if not crd:
        yield Finding(Status.FAIL, subject, f"The kind {kind} of {group} is not installed.", 0, " or ".join(wanted))
    elif not set(crd.served) & set(wanted):
        text = f"{kind} of {group} is served as {', '.join(crd.served) or 'nothing'}, not as {' or '.join(wanted)}."
        yield Finding(Status.FAIL, subject, text, ", ".join(crd.served), wanted[0], evidence=(crd.evidence(text),))
    elif not crd.established:
        text = f"{kind} of {group} is installed but not established."
        yield Finding(Status.FAIL, subject, text, evidence=(crd.evidence(text),))
    else:
        yield Finding(Status.OK, subject, f"{kind} of {group} is served as {', '.join(crd.served)}.")
