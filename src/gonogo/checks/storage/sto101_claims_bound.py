"""Every claim that the pods mount is bound, or will be.

## Why it matters
A pod with a claim that isn't bound stays pending, and says "unbound immediate PersistentVolumeClaims".

## Usual causes
- the claim doesn't exist in this namespace, or its storage class doesn't
- no driver makes the volume, or it fails to: permissions, security group, size, zone
- access mode ReadWriteOnce, where pods on several nodes share it

## Fix
`kubectl -n NAMESPACE describe pvc CLAIM` has the provisioner's own words.

## Source
https://kubernetes.io/docs/concepts/storage/persistent-volumes/#binding
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.kube_cluster import Claim, Volumes
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Skip, check
from gonogo.model import Finding, Status, Subject


@check("STO101")
def claims_bound(storage: Volumes, workload: Workload) -> Iterator[Finding]:
    """A class that waits for the first pod is as good as bound; the start of the pods shows the rest."""
    if not workload.claims:
        raise Skip("The pods mount no claims.")
    for name in workload.claims:
        subject = Subject("object", f"persistentvolumeclaim/{name}")
        claim = storage.claims.get(name)
        if not claim:
            text = f"There is no claim {name} in namespace {workload.namespace}."
            yield Finding(Status.FAIL, subject, text, "absent", "Bound")
            continue
        status, text = _judge(claim, storage, workload.count)
        evidence = (
            claim.evidence(f"{name}: {claim.phase}, class {claim.storage_class or '(none)'}. {claim.word}".strip()),
        )
        yield Finding(status, subject, text, claim.phase, "Bound", evidence=evidence)


def _judge(claim: Claim, storage: Volumes, pods: int) -> tuple[Status, str]:
    made_by = storage.classes.get(claim.storage_class)
    if claim.phase == "Bound":
        if pods > 1 and set(claim.modes) <= {"ReadWriteOnce", "ReadWriteOncePod"}:
            text = f"{claim.name} is bound with {', '.join(claim.modes)}: {pods} pods on {pods} nodes can't share it."
            return Status.FAIL, text
        return Status.OK, f"{claim.name} is bound with {', '.join(claim.modes)}."
    if claim.storage_class and not made_by:
        return Status.FAIL, f"{claim.name} is {claim.phase}: there is no storage class {claim.storage_class}."
    if made_by and made_by.waits_for_pod:
        return Status.OK, f"{claim.name} is {claim.phase}: class {made_by.name} makes its volume for the first pod."
    word = f" {claim.word.rstrip('.')}." if claim.word else ""
    return Status.FAIL, f"{claim.name} is {claim.phase or 'not bound'}.{word}"
