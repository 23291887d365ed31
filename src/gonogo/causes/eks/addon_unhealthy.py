"""An EKS add-on is degraded, missing or conflicting.

## What is wrong
EKS could not install or update the add-on: a field that somebody else manages, too few replicas, a permission.

## Fix
What the add-on's health says; `--resolve-conflicts OVERWRITE` where a manual change is in the way.

## Source
https://docs.aws.amazon.com/eks/latest/userguide/eks-add-ons.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("eks.addon_unhealthy", also=True)
def addon_unhealthy(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where an add-on's status isn't healthy, as EKS says."""
    sick = [
        a
        for a in objects.of("addon")
        if str(a.get("status")) in ("DEGRADED", "CREATE_FAILED", "UPDATE_FAILED", "DELETE_FAILED")
    ]
    told = events.of("eks.addon_problem")
    if told and not sick:
        yield diagnosis(
            "eks.addon_unhealthy",
            f"An add-on is not healthy: {told.first.get('error')[:140]}.",
            told,
            repair=Repair.CHANGE_CLUSTER,
            commands=("aws eks describe-addon --cluster-name <cluster> --addon-name <addon> --query addon.health",),
        )
    if sick:
        one = sick[0]
        issue: dict[str, str] = next(iter(one.items("health.issues")), {})
        yield diagnosis(
            "eks.addon_unhealthy",
            f"Add-on {one.get('addonName', '')} is {one.get('status')}: {issue.get('code', '')}.",
            [one.cite("status"), one.cite("health.issues.0.code"), one.cite("health.issues.0.message")],
            events.of("eks.addon_problem"),
            repair=Repair.INSTALL_COMPONENT,
            commands=(
                f"aws eks update-addon --cluster-name {one.get('clusterName', '<cluster>')} --addon-name "
                f"{one.get('addonName', '<addon>')} --resolve-conflicts OVERWRITE",
            ),
        )
