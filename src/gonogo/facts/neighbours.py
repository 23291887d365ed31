"""What is beside a job that goes on with all of its own pods: what fails there is not the job's trouble."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from gonogo.facts.about import is_of_a_job, name_of
from gonogo.facts.events import Event
from gonogo.facts.lines import file_place
from gonogo.facts.objects import Object, Objects
from gonogo.facts.strangers import DAEMONS, PLATFORM, is_log_of
from gonogo.facts.well import JOBS, is_unwell


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Who is none of the job's: pods that share no first word with it, and nodes on which it has no pod."""

    stems: frozenset[str] = frozenset()  # of the job's own pods; nothing where they are not known, or not all are well
    pods: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()  # that the job is on; nothing where that is not known of all its pods

    def has(self, event: Event) -> bool:
        """Whether a line is of a pod, job or claim of others, or tells that a node was lost that the job is not on."""
        if not self.stems:
            return False
        if (name_of(event) or event.who.pod) in self.pods:
            return is_of_a_job(event)
        if event.signature.startswith(_OF_NODES):
            told = event.text
            return bool(self.nodes) and "ip-" in told and not any(node in told for node in self.nodes)
        return is_of_a_job(event) and not self.stems & set(name_of(event).split("-"))

    def has_object(self, one: Object) -> bool:
        """Whether an object is a pod that does not do well, or a node that is not ready, of somebody else's."""
        if one.kind == "Node":
            return bool(self.nodes) and one.name not in self.nodes and _is_lost(one)
        return one.kind == "Pod" and one.name in self.pods and is_unwell(one)


_OF_NODES = ("node.not_ready", "node.interruption")


def neighbours(objects: Objects, going_on: Iterable[str]) -> Neighbours:
    """Of the job whose logs go on; nobody where one of its own pods is not well."""
    pods = [p for p in objects.of("Pod") if not PLATFORM.search(p.namespace) and not DAEMONS.match(p.name)]
    own = _own(pods, objects, {file_place(f) for f in going_on})
    stems = frozenset(stem(p.name) for p in own)
    mates = [p for p in pods if stem(p.name) in stems]
    if not own or any(is_unwell(p) for p in mates):
        return Neighbours()
    nodes = [str(p.get("spec.nodeName") or "") for p in mates]
    others = frozenset(p.name for p in pods if stem(p.name) not in stems)
    return Neighbours(stems, others, frozenset(nodes) if all(nodes) else frozenset())


def without_trouble_of_others(objects: Objects, others: Collection[str], beside: Neighbours) -> Objects:
    """All but other people's pods and nodes that do not do well; those that run may hold what a job lacks."""
    return Objects.made(
        o
        for o in objects.all
        if not (o.kind == "Pod" and o.name in others and is_unwell(o)) and not beside.has_object(o)
    )


def stem(pod: str) -> str:
    """The name that the pods of one job share: its first word."""
    return pod.partition("-")[0]


def _own(pods: Iterable[Object], objects: Objects, logs: Collection[str]) -> list[Object]:
    """The pods that the logs are of; else those of the one job that there is, where any log goes on."""
    own = [p for p in pods if any(is_log_of(log, p.name) for log in logs)]
    jobs = {o.name for o in objects.of(*JOBS) if o.name}
    if own or not logs or len(jobs) != 1:
        return own
    return [p for p in pods if p.name.startswith(f"{min(jobs)}-")]


def _is_lost(node: Object) -> bool:
    ready = str(node.get("status.ready", ""))
    told = [c for c in node.items("status.conditions") if isinstance(c, dict) and c.get("type") == "Ready"]
    return ready.startswith("NotReady") or any(c.get("status") != "True" for c in told)
