"""The job's headless Service gives names to pods before they are ready.

## Why it matters
Ranks look for the first of them by name while it still starts. A headless Service without `publishNotReadyAddresses`
has no name for a pod until its readiness probe passes; where that waits for the ranks, both wait for ever.

## Usual causes
- a Service that was written for a web server
- a readiness probe that asks for what comes up only after the rendezvous

## Fix
Set `publishNotReadyAddresses: true` in the Service's spec.

## Source
https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.documents.kubernetes import Object, Scope
from gonogo.facts.kube_cluster import Services
from gonogo.facts.kube_pods import KubePod, Pods
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Skip, check
from gonogo.model import Finding, Status, Subject

SHOWN = 3


@check("JOB101")
def names_before_ready(services: Services, scope: Scope, workload: Workload, pods: Pods | None) -> Iterator[Finding]:
    """Only Services that select the user's own pods, by their labels: those of the manifest, and of the namespace.

    Without a probe a pod is ready, and gets its name, a moment after it starts: a warning.
    """
    known = {s.name: s for s in services.services}
    known |= {
        s.name: s for s in (Object(written) for written in scope.services) if s.namespace in ("", scope.namespace)
    }
    mine = [s for s in known.values() if _is_headless_for(s, workload)]
    if not mine:
        raise Skip("No headless Service in the namespace selects the job's pods.")
    for service in mine:
        yield _judged(service, workload, _unready(service, pods, scope.namespace))


def _judged(service: Object, workload: Workload, unready: list[KubePod]) -> Finding:
    early = bool(service.at("spec", "publishNotReadyAddresses", default=False))
    text = f"Service {service.name} gives names to pods {'before' if early else 'only once'} they are ready"
    evidence = [service.evidence(f"service {service.name}: publishNotReadyAddresses: {str(early).lower()}")]
    status = Status.OK if early else Status.WARN
    if not early and unready:
        text += f": {len(unready)} that run are not, and have none"
        evidence += [p.evidence(f"pod {p.name} runs and is not ready") for p in unready[:SHOWN]]
        status = Status.FAIL
    elif not early and (workload.is_probed or not workload.template):
        text += f", {'which a probe decides' if workload.is_probed else 'whatever decides that'}"
        status = Status.FAIL
    return Finding(
        status, Subject("object", f"service/{service.name}"), f"{text}.", early, True, evidence=tuple(evidence)
    )


def _is_headless_for(service: Object, workload: Workload) -> bool:
    selector = service.mapping("spec", "selector")
    labels = workload.job_labels
    chosen = bool(selector) and all(labels.get(k) == v for k, v in selector.items())
    return chosen and service.at("spec", "clusterIP") == "None"


def _unready(service: Object, pods: Pods | None, namespace: str) -> list[KubePod]:
    """Pods that run, as the Service would name them were they ready."""
    selector = service.mapping("spec", "selector")
    return [
        p
        for p in (pods.pods if pods else ())
        if p.namespace == namespace
        and p.phase == "Running"
        and not p.ready
        and all(p.labels.get(k) == v for k, v in selector.items())
    ]
