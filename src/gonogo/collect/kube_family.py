"""What belongs to a job: the objects that it owns, directly or not, and those that these name. Pure, on the API's JSON.

Owners are told by their ids. What is gone already is known by its events alone, and there by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Dict = dict[str, Any]
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")
_ASSIGNED = re.compile(r"Successfully assigned \S+ to (\S+)")


def name_of(item: Mapping[str, Any]) -> str:
    """metadata.name."""
    return str((item.get("metadata") or {}).get("name", ""))


def uid_of(item: Mapping[str, Any]) -> str:
    """metadata.uid."""
    return str((item.get("metadata") or {}).get("uid", ""))


@dataclass(slots=True)
class Family:
    """A job by kind and name, and all that descends from it; grows as objects are shown to it, owners first."""

    kind: str
    name: str
    uids: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)  # of jobs: what the names of their pods begin with
    strangers: set[str] = field(default_factory=set)  # jobs and pods that are somebody else's

    def __post_init__(self) -> None:
        self.names.add(self.name)

    def admit(self, items: Iterable[Dict]) -> list[Dict]:
        """Those of them that belong to the family."""
        found = []
        for item in items:
            if self._is_one(item):
                self.uids.add(uid_of(item))
                self.names.add(name_of(item))
                found.append(item)
            else:
                self.strangers.add(name_of(item))
        return found

    def _is_one(self, item: Dict) -> bool:
        if uid_of(item) in self.uids or (item.get("kind") == self.kind and name_of(item) == self.name):
            return True
        owners = (item.get("metadata") or {}).get("ownerReferences") or []
        return any(
            o.get("uid") in self.uids or (o.get("kind"), o.get("name")) == (self.kind, self.name)
            for o in owners
            if isinstance(o, dict)
        )

    def is_about(self, event: Dict, claims: set[str], nodes: set[str]) -> bool:
        """Whether an event is of one of these objects, or of one that was theirs by its name and is gone."""
        about = event.get("involvedObject") or {}
        kind, name = str(about.get("kind", "")), str(about.get("name", ""))
        if about.get("uid") and about["uid"] in self.uids:
            return True
        if kind == "Node":
            return name in nodes
        if kind == "PersistentVolumeClaim":
            return name in claims
        if kind == self.kind and name == self.name:
            return True
        plain = name.removeprefix("job-") if kind == "Workload" else name  # queues name theirs so
        return self._nearest(plain) in self.names

    def _nearest(self, name: str) -> str:
        """The longest name of any job or pod that this one begins with: `a-b-x1` is a pod of a-b, not of a."""
        while name and name not in self.names and name not in self.strangers:
            name = name.rpartition("-")[0]
        return name


def claims_of(items: Iterable[Dict]) -> set[str]:
    """The claims that pods and pod templates mount."""
    return {str(v["claimName"]) for item in items for v in _values(item, "persistentVolumeClaim") if "claimName" in v}


def nodes_of(pods: Iterable[Dict], events: Iterable[Dict]) -> set[str]:
    """The nodes that pods are on, or were, as the scheduler's events say."""
    there = {str((p.get("spec") or {}).get("nodeName") or "") for p in pods}
    told = {m[1] for e in events if (m := _ASSIGNED.search(str(e.get("message", ""))))}
    return (there | told) - {""}


def gives_names(service: Dict, pods: Iterable[Dict]) -> bool:
    """Whether pods may look for each other by a Service: it is headless, or selects one of these."""
    spec = service.get("spec") or {}
    selector = spec.get("selector") or {}
    labels = [(p.get("metadata") or {}).get("labels") or {} for p in pods]
    return spec.get("clusterIP") == "None" or any(
        selector and all(some.get(k) == v for k, v in selector.items()) for some in labels
    )


def time_of(event: Dict) -> float:
    """When an event was last seen, in seconds since 1970; 0 where it doesn't say."""
    series = event.get("series") or {}
    meta = event.get("metadata") or {}
    for text in (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"),
                 event.get("firstTimestamp"), meta.get("creationTimestamp")):  # fmt: skip
        try:
            return datetime.fromisoformat(str(text)).timestamp()
        except ValueError:
            continue
    return 0.0


def born_at(items: Iterable[Dict]) -> float:
    """When the first of some objects was made, in seconds since 1970; 0 where none says."""
    times = [str((item.get("metadata") or {}).get("creationTimestamp") or "") for item in items]
    return min((datetime.fromisoformat(t).timestamp() for t in times if _STAMP.fullmatch(t)), default=0.0)


@dataclass(frozen=True, slots=True)
class Container:
    """A container that ran, and which of its logs there may be."""

    pod: str
    name: str
    runs: tuple[bool, ...]  # previous or not, in the order of time
    failed: bool


def containers_of(pod: Dict) -> Iterator[Container]:
    """Those that ever ran; one that waits to be started again has its last run's log as its current one."""
    status = pod.get("status") or {}
    kinds = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    for one in (c for kind in kinds for c in status.get(kind) or []):
        state, last = one.get("state") or {}, (one.get("lastState") or {}).get("terminated")
        ended = state.get("terminated") or {}
        if not last and not ended and "running" not in state:
            continue
        runs = (True, False) if last and "waiting" not in state else (False,)
        failed = bool(last or ended.get("exitCode"))
        yield Container(name_of(pod), str(one.get("name", "")), runs, failed)


def _values(value: Any, key: str) -> Iterator[Dict]:
    if isinstance(value, list):
        for one in value:
            yield from _values(one, key)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name == key and isinstance(inner, dict):
                yield inner
            else:
                yield from _values(inner, key)
