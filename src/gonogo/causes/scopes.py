"""Of whose job a diagnosis speaks: what two jobs' logs say of themselves explains nothing of each other."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.facts.signatures import Role
from gonogo.model import Diagnosis, FindingKey

_ROLE = re.compile(r"(?:-(?:master|worker|launcher|chief|ps|node|rank|server|trainer))?(?:-\d+)*(?:-[a-z0-9]{5})?$")

OF_RANKS = ("c10d.", "cuda.", "dataloader.", "gloo.", "horovod.", "job.", "nccl.", "python.", "torch", "train.")
FAULTS = (Role.INITIATING, Role.CASCADE)
MOST_JOBS = 8


class Scopes:
    """Which job each line is of, as far as pods are known by objects or by prefixes of lines."""

    def __init__(self, events: Events, objects: Objects) -> None:
        listed = {p.name for p in objects.of("Pod")}
        prefixed = {e.who.pod for e in events if e.who.pod and e.text.startswith("[pod/")}
        self._jobs = {name: job_of(name) for name in listed | prefixed}
        self._by_line: dict[tuple[str, int], Event] = {(e.file, e.line): e for e in events}

    def of(self, diagnosis: Diagnosis) -> frozenset[str]:
        """The jobs that its lines are of; none where they are a node's, a network's or nobody's."""
        told = [self._of_line(e.file, e.line) for e in diagnosis.evidence]
        named = [self._jobs.get(s.name, "") for s in diagnosis.subjects if s.kind == "pod"]
        return frozenset(job for job in (*told, *named) if job)

    def parts(self, events: Events, objects: Objects) -> list[tuple[Events, Objects]]:
        """The events and objects of each job, and with each all that is of none; jobs lie in folders of their own."""
        folders: dict[str, set[str]] = {}
        for e in events:
            if (job := self._jobs.get(e.who.pod, "")) and e.signature.startswith(OF_RANKS) and e.role in FAULTS:
                folders.setdefault(job, set()).add(str(PurePosixPath(e.file).parent))
        jobs = [j for j in folders if not any(folders[j] & folders[o] for o in folders if o != j)]
        if len(jobs) < 2 or len(jobs) > MOST_JOBS:
            return [(events, objects)]
        return [
            (
                Events(tuple(e for e in events if self._jobs.get(e.who.pod, job) == job), events.counts),
                Objects.made(o for o in objects.all if o.kind != "Pod" or self._jobs.get(o.name, job) == job),
            )
            for job in jobs
        ]

    def of_finding(self, key: FindingKey) -> frozenset[str]:
        """The job of the pod that a finding is about."""
        job = self._jobs.get(key.subject.name, "") if key.subject.kind == "pod" else ""
        return frozenset([job] if job else [])

    def apart(self, one: frozenset[str], other: frozenset[str]) -> bool:
        """Whether both are of jobs, and share none."""
        return bool(one) and bool(other) and not one & other

    def _of_line(self, file: str, line: int) -> str:
        event = self._by_line.get((file, line))
        return self._jobs.get(event.who.pod, "") if event else ""


def job_of(pod: str) -> str:
    """The name that the pods of one job share."""
    return _ROLE.sub("", pod) or pod
