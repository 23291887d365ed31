"""MASTER_ADDR names nothing, or the wrong pod.

## What is wrong
The name that the ranks are told is no Service or pod of the job: misspelt, of another namespace, or loopback.

## Fix
The master's Service, with its namespace: NAME.NAMESPACE.svc.

## Source
https://pytorch.org/docs/stable/distributed.html#environment-variable-initialization
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.network.symptoms import dropped, refused, waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_NO_NAME = re.compile(r"[/\\$<>{}@\s]|^None$")
"""What no host's name has: a path, a variable that nobody filled in, a user before the host."""


@cause("job.master_addr_wrong", also=True)
def master_addr_wrong_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where the name is known and no Service or pod has it, or it is loopback in a job of several hosts."""
    names = events.of(
        "env.master_addr",
        "c10d.connect_attempt",
        "c10d.connect_timeout",
        "c10d.connect_errno",
        "c10d.address_lookup_failed",
    )
    told = [n for n in names.values("address") if not n[0].isdigit()]
    unknown = events.of("dns.name_unknown")
    if unknown and (nonsense := [n for n in told if _NO_NAME.search(n)]):
        yield diagnosis(
            "job.master_addr_wrong",
            f"The ranks are told to meet at {nonsense[0]}, which is no name of a host.",
            Events(tuple(e for e in names if e.get("address") == nonsense[0])),
            unknown,
            repair=Repair.CHANGE_JOB,
            commands=("env | grep -e MASTER_ -e PET_RDZV  # in each rank's environment",),
        )
        return
    services = objects.of("Service")
    pods = {p.name for p in objects.of("Pod")} | {str(p.get("spec.hostname", "")) for p in objects.of("Pod")}
    wrong = [
        n for n in told if services and n != "localhost" and not _is_known(n, {s.name for s in services}, pods, objects)
    ]
    elsewhere = {n: home for n in told if (home := _home(n, objects))}
    if elsewhere and (unknown or dropped(events)):
        yield _in_another_namespace(*next(iter(elsewhere.items())), names, events)
        return
    local = [n for n in names.values("address") if _is_loopback(n)]
    several = len({p.get("spec.nodeName") for p in objects.of("Pod") if p.get("spec.nodeName")}) > 1
    here = [e for e in names if _is_loopback(e.get("address"))]
    short = [e for e in events.of("c10d.clients_missing") if int(e["joined"]) < int(e["expected"])]
    several = several or (bool(short) and len({e.writer[0] for e in here}) > 1)
    several = several or any(int(n) > 1 for n in events.of("job.nnodes").values("wanted") if n.isdigit())
    several = several or any(e.file in {h.file for h in here} for e in events.of("env.node_rank"))
    failed = Events((*unknown, *waiting(events), *refused(events), *dropped(events)))
    dialled = [n for n in Events((*refused(events), *dropped(events))).values("address") if n in told]
    if other := _of_another_job(dialled, objects):
        name, pod = other
        yield diagnosis(
            "job.master_addr_wrong",
            f"MASTER_ADDR is {name}, the pod of another job, which is {pod.get('status.phase')}.",
            Events(tuple(e for e in names if e.get("address") == name)),
            failed,
            [pod.cite("status.phase")],
            repair=Repair.CHANGE_JOB,
            subjects=[pod.subject],
            commands=("kubectl get services,pods -o wide",),
        )
        return
    if failed and ((wrong and (unknown or dropped(events))) or (local and several)):
        name = (wrong or local)[0]
        yield diagnosis(
            "job.master_addr_wrong",
            f"MASTER_ADDR is {name}, which {'is no Service or pod here' if wrong else 'is each pod itself'}.",
            Events(tuple(e for e in names if e.get("address") == name)),
            failed,
            [s.cite("metadata.name") for s in services],
            repair=Repair.CHANGE_JOB,
            commands=("kubectl get services,pods -o wide",),
        )


def _in_another_namespace(name: str, home: Object, names: Events, events: Events) -> Diagnosis:
    return diagnosis(
        "job.master_addr_wrong",
        f"MASTER_ADDR is {name}, and the Service {home.name} is in the namespace {home.namespace}.",
        Events(tuple(e for e in names if e.get("address") == name)),
        Events((*events.of("dns.name_unknown"), *waiting(events), *dropped(events))),
        [home.cite("metadata.namespace"), home.cite("metadata.name")],
        repair=Repair.CHANGE_JOB,
        subjects=[home.subject],
        commands=("kubectl get services -A -o wide",),
    )


def _home(name: str, objects: Objects) -> Object | None:
    """The Service that a name means, where the namespace that the name tells is not its own: POD.SERVICE.NAMESPACE."""
    labels = name.split(".svc")[0].split(".")
    if not 1 < len(labels) < 4 or (len(labels) == 2 and objects.named("Service", labels[1])):
        return None
    service, namespace = labels[-2:]
    found = [s for s in objects.of("Service", "Endpoints") if s.name == service and s.namespace]
    return found[0] if found and all(s.namespace != namespace for s in found) else None


def _is_known(name: str, services: set[str], pods: set[str], objects: Objects) -> bool:
    """Whether a Service has this name, or a pod has, in the domain of a Service: SERVICE…, or POD.SERVICE…."""
    first, *domain = name.split(".")
    if first in services:
        return True
    return (first in pods or _of_a_job(name, objects)) and (not domain or domain[0] in services)


def _is_loopback(address: str) -> bool:
    return address in ("localhost", "::1") or address.startswith("127.")


def _of_a_job(name: str, objects: Objects) -> bool:
    """Whether an Indexed Job gives one of its pods this name, which may be gone: `train-0` of train."""
    job, _, index = name.partition(".")[0].rpartition("-")
    counts = [o.get("spec.completions") or o.get("spec.parallelism") for o in objects.of("Job") if o.name == job]
    return index.isdigit() and any(isinstance(count, int) and int(index) < count for count in counts)


def _of_another_job(told: list[str], objects: Objects) -> tuple[str, Object] | None:
    """A name that ranks dial, and the pod of it: it ended well, and pods of other names still wait for it."""
    pods = {p.name: p for p in objects.of("Pod") if p.name}
    for name in told:
        pod = pods.get(name.partition(".")[0])
        if not pod or str(pod.get("status.phase")) not in ("Completed", "Succeeded"):
            continue
        job = pod.name.rpartition("-")[0]
        if job and any(not p.startswith(f"{job}-") and pods[p].get("status.phase") == "Running" for p in pods):
            return name, pod
    return None
