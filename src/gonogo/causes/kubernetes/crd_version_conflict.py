"""The installed CRD doesn't serve that version.

## What is wrong
Two operators (or releases) bring the same CRD in different versions; Kubernetes knows only one CRD of a name.

## Fix
Keep one of them, or remove the old CRD with its objects.

## Source
https://github.com/kubeflow/trainer/issues/1930
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_WATCHED = re.compile(r"\*(?P<version>v\d+(?:(?:alpha|beta)\d+)?)\.[A-Z]\w+")
"""A type as client-go names what it watches."""


@cause("kubernetes.crd_version_conflict", refines=("kubernetes.crd_missing",), also=True)
def crd_version_conflict(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a refusal of the CRD, or where the kind exists and the asked version isn't served."""
    refused = events.of("k8s.crd_stored_version")
    fields = events.of("k8s.unknown_field")
    unknown = events.of("k8s.kind_unknown")
    crds = [c for c in objects.of("CustomResourceDefinition") if c.items("spec.versions")]
    for event in unknown:
        group, _, version = event.get("version").partition("/")
        for crd in crds:
            same = crd.get("spec.names.kind") == event.get("kind") or crd.name.startswith(
                f"{event.get('kind').lower()}s."
            )
            served = [str(v.get("name")) for v in crd.items("spec.versions") if v.get("served")]
            if same and (str(crd.get("spec.group", crd.name.partition(".")[2])) == group) and version not in served:
                yield _diagnosis(Events((event,)), crd, f"{crd.name} serves {', '.join(served)} and not {version}")
                return
            watched = _WATCHED.search(event.text)
            if crd.name == event.get("path") and served and watched and watched["version"] not in served:
                told = f"{crd.name} serves {', '.join(served)} and not {watched['version']}"
                yield _diagnosis(Events((event,)), crd, told)
                return
        for listed in objects.of("APIResource"):
            own = str(listed.get("apiVersion", ""))
            if listed.get("kind") == event.get("kind") and own.partition("/")[0] == group and version not in own:
                yield _diagnosis(Events((event,)), listed, f"The cluster serves {own} of {event.get('kind')} alone")
                return
    if fields and not refused and crds:
        yield _diagnosis(fields, crds[0], f"{crds[0].name} does not have the field that the manifest sets")
    if refused:
        name = next(iter(refused.values("crd")), "")
        known = next((c for c in crds if c.name == name), None)
        stored = next(iter(refused.values("version")), "the stored version")
        yield _diagnosis(refused, known, f"{name or 'The CRD'} is stored as {stored}, which the new one lacks")


def _diagnosis(seen: Events, crd: Object | None, told: str) -> Diagnosis:
    name = crd.name if crd else "CRD"
    return diagnosis(
        "kubernetes.crd_version_conflict",
        f"{told}.",
        seen,
        [crd.cite()]
        if crd and crd.is_table
        else [crd.cite("status.storedVersions" if crd.get("status.storedVersions") else "spec.versions")]
        if crd
        else (),
        repair=Repair.INSTALL_COMPONENT,
        commands=(f"kubectl get crd {name} -o jsonpath='{{.spec.versions[*].name}} {{.status.storedVersions}}'",),
    )
