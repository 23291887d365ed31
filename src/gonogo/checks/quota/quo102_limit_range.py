"""The namespace's limit ranges admit the pods and leave them enough memory.

## Why it matters
A LimitRange refuses pods that are larger, and writes its default into containers that state no limit: a training of
many gigabytes then dies of a default of 512 MiB.

## Usual causes
- a default memory limit that was meant for web services
- a maximum below what a GPU node's pod asks for

## Fix
State requests and limits in the pod template, or use a namespace without such a LimitRange.

## Source
https://kubernetes.io/docs/concepts/policy/limit-range/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gonogo.facts.kube_cluster import Limit, LimitRanges
from gonogo.facts.kube_quantity import quantities, shown
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import check
from gonogo.model import CLUSTER, Finding, Status, Subject

LEAST_BYTES = 2 << 30
"""Python, a framework and a small model."""


@check("QUO102")
def limit_range(ranges: LimitRanges, workload: Workload) -> Iterator[Finding]:
    """Only what is about containers and pods; that of claims is storage's."""
    rules = [rule for rule in ranges.limits if rule.type in ("Container", "Pod")]
    if not rules:
        yield Finding(Status.OK, CLUSTER, f"0 limit ranges apply to pods in namespace {workload.namespace}.")
    resources: Mapping[str, Any] = workload.container.get("resources") or {}
    limits, requests = quantities(resources.get("limits") or {}), workload.requests
    for rule in rules:
        against = list(_against(rule, requests, limits))
        subject = Subject("object", f"limitrange/{rule.name}")
        said = "; ".join(against) or f"its rule for {rule.type.lower()}s admits the pods"
        status = Status.FAIL if against else Status.OK
        yield Finding(status, subject, f"{rule.name}: {said}.", evidence=(rule.evidence(f"{rule.name}: {said}"),))


def _against(rule: Limit, requests: Mapping[str, float], limits: Mapping[str, float]) -> Iterator[str]:
    for name, most in rule.most.items():
        if (have := max(requests.get(name, 0.0), limits.get(name, 0.0))) > most:
            yield f"at most {shown(name, most)} of {name}, and a pod has {shown(name, have)}"
    for name, least in rule.least.items():
        if name in requests and requests[name] < least:
            yield f"at least {shown(name, least)} of {name}, and a pod has {shown(name, requests[name])}"
    default = rule.default.get("memory")
    if default is not None and "memory" not in limits:
        if default < LEAST_BYTES:
            yield f"it limits memory to {shown('memory', default)} where a pod states no limit, and these state none"
        elif requests.get("memory", 0.0) > default:
            need = shown("memory", requests["memory"])
            yield f"its default memory limit is {shown('memory', default)}, below the request of {need}"
