"""A job as its cluster tells of it: objects, events and logs, as a bundle that can be diagnosed. Only reads."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gonogo.clients.kube import (
    CLAIMS,
    EVENTS,
    JOBS,
    NODES,
    PODS,
    QUOTAS,
    SERVICES,
    Cluster,
    Forbidden,
    KubeError,
    Resource,
    Unauthorized,
)
from gonogo.clients.kubeconfig import CredentialsError
from gonogo.collect.kube_access import NODE_EVENTS_NAMESPACE
from gonogo.collect.kube_again import AGAIN_SECONDS, EVENTS_AGAIN, READINGS, goes_on, newer
from gonogo.collect.kube_family import (
    Dict,
    Family,
    born_at,
    claims_of,
    containers_of,
    gives_names,
    name_of,
    nodes_of,
    time_of,
)
from gonogo.collect.kube_job_logs import JobLogs
from gonogo.collect.kube_kinds import KINDS, Kind, Reference
from gonogo.collect.kube_project import projected
from gonogo.documents.bundle import RUN, Bundle
from gonogo.documents.kubernetes import FOLDER, FOOT, Scope, answer_json
from gonogo.errors import InputError, did_you_mean, shown

_TRIES = 3
_FIXED = {"jobs": JOBS, "pods": PODS}


@dataclass(frozen=True, slots=True)
class Place:
    """Which cluster and namespace, as kubectl's flags say; empty: the kubeconfig's own."""

    context: str = ""
    namespace: str = ""
    kubeconfig: str = ""


@dataclass(slots=True)
class Reading:
    """What came, and what didn't: name of a document -> why, in a sentence."""

    pods: int = 0
    logs: int = 0
    lost: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False


COSTS = {
    "Job": "whether the job failed, and why, is not known",
    "Pod": "how the pods ended is not known, and no log could be found",
    "Event": "what the scheduler, the kubelets and the controllers said is not known",
    "NodeEvent": "what happened to the nodes is not known",
    "Node": "whether the nodes are ready and what they hold is not known",
    "PersistentVolumeClaim": "whether the job's volumes are bound is not known",
    "ResourceQuota": "whether a quota holds the job back is not known",
    "Service": "what names the job's pods have is not known",
    "log": "what the program printed is not known",
}
"""What it costs not to see a kind."""


def read_job(
    what: Reference,
    place: Place,
    bundle: Bundle,
    *,
    since_seconds: float = 0.0,
    again_seconds: float = AGAIN_SECONDS,
    say: Callable[[str], None],
) -> Reading:
    """All documents that tell of a job, into a bundle; of one that runs twice, so long apart (0: once).

    Raises InputError where there is no way in, or no such job.
    """
    try:
        cluster = Cluster.connect(place.context, place.namespace, place.kubeconfig, tries=1)
    except CredentialsError as error:
        raise InputError(str(error)) from None
    try:
        return read_job_of(cluster, what, bundle, since_seconds=since_seconds, again_seconds=again_seconds, say=say)
    finally:
        cluster.close()
        bundle.close()


def read_job_of(
    cluster: Cluster, what: Reference, bundle: Bundle, *, since_seconds: float = 0.0, again_seconds: float = 0.0,
    say: Callable[[str], None],
) -> Reading:  # fmt: skip
    """The same, of a cluster that is connected."""
    job = _Job(cluster, what, bundle, since_seconds)
    began = time.time()
    try:
        owners = job.find()
        cluster.tries = _TRIES  # what answered once is worth waiting for
        say(f"{what} is there; reading its pods, events and logs. Nothing is made or changed.")
        job.surroundings(owners)
        job.logs(say)
        job.again(again_seconds, say)
    except KeyboardInterrupt:
        job.reading.interrupted = True
    _remember(cluster, what, bundle, job.reading, began)
    return job.reading


def _remember(cluster: Cluster, what: Reference, bundle: Bundle, reading: Reading, began: float) -> None:
    """What was asked for and what could not be had, so that the bundle is judged alike at any time."""
    bundle.write(Scope.file, answer_json(Scope(cluster.context, cluster.namespace, job=str(what))))
    summary = f"{cluster.context}, {cluster.server}, namespace {cluster.namespace}"
    run = {"started": began, "ended": time.time(), "level": "read", "interrupted": reading.interrupted}
    lost = {name: {"reason": reason, "status": "unknown"} for name, reason in reading.lost.items()}
    bundle.write_json(
        RUN,
        {
            "apiVersion": "gonogo/v1", "kind": "Run", "run": run, "planes": ["kubernetes"], "lost": lost,
            "target": {"kind": "kubernetes", "name": str(what), "summary": summary}, "job": str(what),
            "notes": reading.notes,
        },
    )  # fmt: skip


class _Job:
    def __init__(self, cluster: Cluster, what: Reference, bundle: Bundle, since_seconds: float) -> None:
        self._cluster, self._what, self._bundle = cluster, what, bundle
        self._logs = JobLogs(cluster, bundle, int(since_seconds), lambda error, name: self._lose("log", error, name))
        self._oldest = time.time() - since_seconds if since_seconds else 0.0
        self._family = Family(what.kind.kind, what.name)
        self._pods: list[Dict] = []
        self._events: list[Dict] = []
        self.reading = Reading()

    def find(self) -> list[Dict]:
        """The job itself, and the jobs that it made. Raises InputError."""
        cluster, kind = self._cluster, self._what.kind
        try:
            resource = _FIXED.get(kind.plural) or cluster.served(kind.group, kind.plural)
            if resource is None:
                raise InputError(f"Context {cluster.context} serves no {kind.plural}.{kind.group}: there can be none.")
            there = self._cluster_objects(resource, cluster.namespace)  # the others, too: their pods are told by them
        except Forbidden as error:
            is_pod = kind.kind == "Pod"
            self._lose("Pod" if is_pod else "Job", error, f"{kind.kind}Objects")
            return [] if is_pod else self._children()
        except (KubeError, CredentialsError) as error:
            hint = " Log in again, or have your access entry checked." if isinstance(error, Unauthorized) else ""
            raise InputError(f"Context {cluster.context}: {error}{hint}") from None
        found = [item for item in there if name_of(item) == self._what.name]
        if not found:
            raise InputError(self._unknown([name_of(item) for item in there]))
        self._family.admit(there)
        if kind.kind == "Pod":
            self._pods = found
            return []
        self._write(resource, found)
        return found + self._children()

    def _children(self) -> list[Dict]:
        """Jobs between the one that is meant and its pods."""
        between: list[Resource] = []
        if self._what.kind.kind == "TrainJob" and (sets := self._cluster.served("jobset.x-k8s.io", "jobsets")):
            between.append(sets)
        if self._what.kind.kind != "Job":
            between.append(JOBS)
        found: list[Dict] = []
        for resource in between:
            mine = self._family.admit(self._list(resource, "Job"))
            self._write(resource, mine)
            found += mine
        return found

    def _unknown(self, names: list[str]) -> str:
        what, namespace = self._what, self._cluster.namespace
        text = f"There is no {what.kind.words[0]} {shown(what.name)} in namespace {namespace}"
        if hint := did_you_mean(what.name, names):
            return f"{text}.{hint}"
        others = [f"{k.words[0]}/{what.name}" for k in KINDS if k != what.kind and self._is_there(k)]
        if others:
            return f"{text}. Did you mean {others[0]}?"
        some = f"there are {', '.join(sorted(names)[:5])}{' …' if len(names) > 5 else ''}" if names else "there is none"
        return f"{text}: {some}."

    def _is_there(self, kind: Kind) -> bool:
        try:
            resource = _FIXED.get(kind.plural) or self._cluster.served(kind.group, kind.plural)
            return bool(resource and self._cluster.get(resource, self._what.name))
        except KubeError:
            return False

    def surroundings(self, owners: list[Dict]) -> None:
        """Pods, events, nodes, claims and quotas, each as far as it may be seen."""
        if not self._pods and "PodObjects" not in self.reading.lost:
            self._pods = self._family.admit(self._list(PODS, "Pod"))
        self.reading.pods = len(self._pods)
        self._write(PODS, self._pods)
        claims = claims_of([*owners, *self._pods])
        events = [e for e in self._list(EVENTS, "Event") if self._family.is_about(e, claims, set())]
        nodes = nodes_of(self._pods, events)
        placed = nodes and all((p.get("spec") or {}).get("nodeName") for p in self._pods)
        if nodes:
            born = born_at([*owners, *self._pods])
            events += [e for e in self._of_nodes(nodes) if time_of(e) >= born]  # what was before is others' story
        self._events = events
        recent = [e for e in events if time_of(e) >= self._oldest]
        self._write(EVENTS, sorted(recent, key=time_of))
        self._write(NODES, [n for n in self._list(NODES, "Node") if not placed or name_of(n) in nodes])
        if claims:
            self._write(CLAIMS, [c for c in self._list(CLAIMS, "PersistentVolumeClaim") if name_of(c) in claims])
        self._write(QUOTAS, self._list(QUOTAS, "ResourceQuota"))
        self._write(SERVICES, [s for s in self._list(SERVICES, "Service") if gives_names(s, self._pods)])
        if not self._pods and "PodObjects" not in self.reading.lost:
            self.reading.notes.append(f"{self._what} has no pod: it made none, or they were deleted with their logs.")

    def _of_nodes(self, nodes: set[str]) -> list[Dict]:
        found = self._list(EVENTS, "NodeEvent", NODE_EVENTS_NAMESPACE, "involvedObject.kind=Node")
        return [e for e in found if (e.get("involvedObject") or {}).get("name") in nodes]

    def logs(self, say: Callable[[str], None]) -> None:
        """The end of each container's log, of this run and the one before."""
        try:
            self._logs.read(c for p in self._pods for c in containers_of(p))
        finally:
            self.reading.logs = self._logs.count
        if cut := self._logs.cut:
            which = f"{min(cut)}{' …' if len(cut) > 1 else ''}"
            self.reading.notes.append(f"{len(cut)} of {self.reading.logs} logs were read in part: {which}.")
        say(f"{self.reading.pods} pods and {self.reading.logs} logs were read.")

    def again(self, seconds: float, say: Callable[[str], None]) -> None:
        """Of a job that runs and has not failed: what came since, some seconds later."""
        readings = self._logs.readings
        if not seconds or not goes_on(self._pods, (seen.container for seen in readings.logs.values())):
            return
        say(f"{self._what} runs: its logs and events are read again in {seconds:.0f} s. Ctrl-C goes on without.")
        began = time.monotonic()
        try:
            self._cluster.stopped.wait(seconds)
        except KeyboardInterrupt:
            return
        self._logs.read_on()
        spent = time.monotonic() - began
        mine = [e for e in self._list(EVENTS, "Event") if self._family.is_about(e, set(), set())]
        if fresh := newer(mine, self._events):
            self._write(EVENTS, sorted(fresh, key=time_of), EVENTS_AGAIN)
        self._bundle.write_json(READINGS, readings.document(spent, time.time()))
        say(readings.note(spent))

    def _list(self, resource: Resource, cost: str, namespace: str = "", fields: str = "") -> list[Dict]:
        try:
            place = namespace or self._cluster.namespace
            return self._cluster_objects(resource, place if resource.namespaced else "", fields)
        except (KubeError, CredentialsError) as error:
            self._lose(cost, error, f"{cost if cost == 'NodeEvent' else resource.kind}Objects")
            return []

    def _cluster_objects(self, resource: Resource, namespace: str, fields: str = "") -> list[Dict]:
        found = []
        for page, _ in self._cluster.pages(resource, namespace, fields=fields):
            found += [{"apiVersion": resource.api_version, **json.loads(projected(resource.kind, raw))} for raw in page]
        return found

    def _write(self, resource: Resource, items: list[Dict], name: str = "") -> None:
        """A list with one object a line, as all of its kind are kept; nothing where none could be seen."""
        if f"{resource.kind}Objects" in self.reading.lost:
            return
        name = name or f"{FOLDER}{resource.plural}.json"
        self._bundle.append(name, f'{{"apiVersion":"v1","kind":"{resource.kind}List","items":['.encode())
        for at, item in enumerate(items, 1):
            text = json.dumps({**item, "apiVersion": resource.api_version}, separators=(",", ":"), ensure_ascii=False)
            self._bundle.append(name, text.encode("utf-8", "replace") + (b"," if at < len(items) else b""))
        self._bundle.append(name, FOOT)

    def _lose(self, cost: str, error: Exception, document: str) -> None:
        if isinstance(error, Forbidden):
            place = "" if error.resource == "nodes" else f" in namespace {self._place(cost)}"
            text = f"You may not {error.verb} {error.resource}{place}: {COSTS[cost]}."
        else:
            text = f"{str(error).rstrip('.')}: {COSTS[cost]}."
        self.reading.lost[document] = text

    def _place(self, cost: str) -> str:
        return NODE_EVENTS_NAMESPACE if cost == "NodeEvent" else self._cluster.namespace
