"""The namespace's resource quotas have room for all pods.

## Why it matters
A quota refuses pods one by one: the first ranks start, the last are never created, and the Job's events are the only
place where it says so.

## Usual causes
- the quota was set for smaller jobs, or another job uses it up
- it limits `requests.nvidia.com/gpu`, which nobody remembers

## Fix
`kubectl -n NAMESPACE describe resourcequota`; raise it, or free what holds it.

## Source
https://kubernetes.io/docs/concepts/policy/resource-quotas/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gonogo.facts.kube_cluster import Quotas
from gonogo.facts.kube_quantity import quantities, shown
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import check
from gonogo.model import CLUSTER, Finding, Status, Subject


@check("QUO101")
def resource_quota(quotas: Quotas, workload: Workload) -> Iterator[Finding]:
    """Pods, Jobs, Services and ConfigMaps of the run, against what each quota has left."""
    if not quotas.quotas:
        yield Finding(Status.OK, CLUSTER, f"0 resource quotas limit namespace {workload.namespace}.")
    for quota in quotas.quotas:
        subject = Subject("object", f"resourcequota/{quota.name}")
        needs = _needs(workload)
        short = []
        for name, hard in quota.hard.items():
            free, need = hard - quota.used.get(name, 0.0), needs.get(name, 0.0)
            if need > free + 1e-9:
                plain = name.removeprefix("requests.").removeprefix("limits.")
                short.append(f"{name}: {shown(plain, free)} of {shown(plain, hard)} left, {shown(plain, need)} needed")
        unset = [n for n in ("limits.cpu", "limits.memory") if n in quota.hard and n not in needs]
        short += [f"{n}: pods must state it, and these don't" for n in unset]
        evidence = (quota.evidence(f"{quota.name}: {'; '.join(short) or 'has room'}"),)
        if not short:
            text = f"{quota.name} has room for {workload.count} of {workload.count} pods."
            yield Finding(Status.OK, subject, text, evidence=evidence)
        else:
            # a quota with scopes may not be about these pods: the API server's own answer (POD102) decides
            status = Status.WARN if quota.scoped else Status.FAIL
            text = f"{quota.name} has no room for {workload.count} pods: {'; '.join(short)}."
            yield Finding(status, subject, text, evidence=evidence)


def _needs(workload: Workload) -> dict[str, float]:
    each: dict[str, float] = {}
    for name, amount in workload.requests.items():
        each[f"requests.{name}"] = amount
        each[name] = amount
    limits: Mapping[str, Any] = (workload.container.get("resources") or {}).get("limits") or {}
    each |= {f"limits.{name}": amount for name, amount in quantities(limits).items()}
    needs = {name: amount * workload.count for name, amount in each.items()}
    ones = ("jobs.batch", "services", "configmaps")
    return {**needs, "pods": float(workload.count), "count/pods": float(workload.count),
            **{f"count/{name}": 1.0 for name in ones}, "services": 1.0, "configmaps": 1.0}  # fmt: skip
