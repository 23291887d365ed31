"""The master's name doesn't resolve (yet).

## What is wrong
Workers start before the master's pod is Ready, or its headless Service has no address: the name has no record.

## Fix
publishNotReadyAddresses on the Service, and a wait for the name before the process group is made.

## Source
https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import resolver_fails
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects, Path, pod_specs
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("job.rendezvous_dns_not_ready", also=True)
def rendezvous_dns_not_ready_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a name does not resolve and its Service has no addresses, or its pod isn't Ready; DNS must answer."""
    unknown = events.of("dns.name_unknown").outside(events.of("ssh.unreachable"))
    if not unknown or events.of("dns.server_silent") or resolver_fails(events):
        return
    names = _names(events)
    parts = {part for n in names for part in n.split(".")[:2]}
    services = [s for s in objects.of("Service") if not parts or s.name in parts]
    empty = [e for e in objects.of("Endpoints") if (not parts or e.name in parts) and _is_empty(e)]
    unready = [p for p in objects.of("Pod") if _is_first(p.name, parts) and not _ready(p)]
    if hidden := [s for s in services if parts and s.get("spec.clusterIP") == "None" and _waits(s, objects)]:
        yield _hidden(hidden[0], next(n for n in names if hidden[0].name in n.split(".")), events, objects)
        return
    if empty or (unready and (services or not objects.of("Service"))):
        name = next(iter(names), "the master's name")
        yield diagnosis(
            "job.rendezvous_dns_not_ready",
            f"{name} does not resolve: {'its Service has no address' if empty else 'its pod is not Ready'} yet.",
            unknown,
            [p.cite("status.phase") for p in unready],
            [e.cite("subsets" if not e.is_table else ()) for e in empty],
            [s.cite("spec.publishNotReadyAddresses") for s in services],
            [s.cite("spec.clusterIP") for s in services],
            events.of("c10d.address_lookup_failed"),
            events.of("env.master_addr"),
            repair=Repair.CHANGE_JOB,
            subjects=[p.subject for p in unready],
            commands=(f"kubectl get endpoints {name.partition('.')[0]}", f"getent hosts {name}  # in a worker's pod"),
        )


def _hidden(service: Object, name: str, events: Events, objects: Objects) -> Diagnosis:
    """The Service names pods once they are ready, and a probe says when: after they have found each other."""
    place = f"-n {service.namespace} " if service.namespace else ""
    probes = [o.cite((*spec, "containers", 0, "readinessProbe")) for o, spec in _probed(service, objects)]
    return diagnosis(
        "job.rendezvous_dns_not_ready",
        f"{name} does not resolve: Service {service.name} names pods only once they are ready, which a probe decides.",
        events.of("dns.name_unknown"),
        [service.cite("spec.selector", "publishNotReadyAddresses is not set")],
        probes[:1],
        events.of("c10d.address_lookup_failed"),
        repair=Repair.CHANGE_JOB,
        subjects=[service.subject],
        commands=(
            f"kubectl {place}patch service {service.name} --type merge "
            """-p '{"spec":{"publishNotReadyAddresses":true}}'""",
        ),
    )


def _waits(service: Object, objects: Objects) -> bool:
    return not service.get("spec.publishNotReadyAddresses") and bool(_probed(service, objects))


def _probed(service: Object, objects: Objects) -> list[tuple[Object, Path]]:
    """The pods that a Service selects, and templates of such, which have a readiness probe."""
    selector = service.dict("spec.selector").items()
    return [
        (one, spec)
        for one, spec in pod_specs(objects)
        if one.get((*spec, "containers", 0, "readinessProbe"))
        and selector
        and all(one.get((*spec[:-1], "metadata", "labels", key)) == value for key, value in selector)
    ]


def _names(events: Events) -> list[str]:
    told = events.of("env.master_addr", "c10d.address_lookup_failed")
    return [n for n in told.values("address") if not n[0].isdigit()]


def _is_empty(endpoints: Object) -> bool:
    return not endpoints.items("subsets") and str(endpoints.get("addresses", "<none>")) == "<none>"


def _is_first(pod: str, parts: set[str]) -> bool:
    return pod in parts or "master" in pod or "launcher" in pod or pod.endswith("-0")


def _ready(pod: Object) -> bool:
    ready = str(pod.get("status.ready", ""))
    if ready:
        return not ready.startswith("0/") or pod.get("status.phase") in ("Completed", "Succeeded")
    told = [c.get("status") for c in pod.items("status.conditions") if c.get("type") == "Ready"]
    return told == ["True"] if told else pod.get("status.phase") == "Running"
