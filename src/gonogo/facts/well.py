"""What came to a good end or goes on: jobs, their pods, their logs."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from gonogo.facts.about import is_of_a_job, is_of_the_platform, is_row, name_of
from gonogo.facts.events import Event, Events
from gonogo.facts.lines import UNKNOWN_YEAR, file_place
from gonogo.facts.news import OF_MEETING, OF_PODS, PLATFORM, UNOWNED
from gonogo.facts.objects import Object, Objects
from gonogo.facts.strangers import PLATFORM as PLATFORM_SPACES

JOBS = ("Job", "PyTorchJob", "MPIJob", "TFJob", "TrainJob", "JobSet")
_DONE = ("Succeeded", "Complete", "Completed")
NOTICE_SECONDS = 150.0
"""How long a node may still work on after it was told to go."""
_TEST_RESULT = "Out of bounds values"  # the good end of a test says nothing of the job that came after it
_REFUSED = re.compile(r"\bpods \\?\"(?P<pod>[a-z0-9][a-z0-9.-]*)\\?\" is forbidden")
WELL = ("Completed", "Succeeded")
_RUNNING = ("Running", "Terminating", "ContainerCreating")


@dataclass(frozen=True, slots=True)
class Progress:
    """By file: its last line that shows a step of training, when that was, in seconds since 1970, and whether its loss
    is a number."""

    last: Mapping[str, int] = field(default_factory=dict)
    moments: Mapping[str, float] = field(default_factory=dict)
    finite: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Well:
    """What came to a good end: names of pods and jobs, the files that say so, and whether whole jobs did."""

    names: frozenset[str]
    files: frozenset[str]
    jobs: bool
    owners: Mapping[str, str]  # file -> the one pod that it tells of
    jobs_are_over: bool

    @classmethod
    def of(cls, done: Events, objects: Objects, going_on: Sequence[str] = ()) -> Well:
        ends = [e for e in done if _TEST_RESULT not in e.text]
        pods = [p for p in objects.of("Pod") if str(p.get("status.phase")) in WELL or _is_whole(p)]
        jobs = [o for kind in JOBS for o in objects.of(kind) if _succeeded(o)]
        again = {made_anew(p.name) for p in pods}
        bad = [p.name for p in objects.of("Pod") if _ended_badly(p) and made_anew(p.name) not in again]
        names = (
            {n for e in ends if (n := name_of(e))}
            | {o.name for o in (*pods, *jobs)}
            | {file_place(e.file) for e in ends}
        )
        trains = {file_place(f) for f in going_on}
        names |= {p.name for p in objects.of("Pod") if _is_ready(p) and (p.name in trains or not _restarted(p))}
        files = {e.file for e in ends if not is_row(e)} | {o.file.name for o in (*pods, *jobs) if not o.is_table}
        owners: dict[str, str] = {}
        for p in objects.of("Pod"):
            owners[p.file.name] = p.name if owners.get(p.file.name, p.name) == p.name else ""
        named = frozenset(n for n in names if n and n not in bad)
        over = bool(jobs or ends or going_on) and not bad
        return cls(named, frozenset(files), bool(jobs or pods) and not bad, owners, over)

    def covers(self, event: Event) -> bool:
        """Whether a fault is of something that came to a good end all the same."""
        if "previous" in event.file:
            return self.jobs
        if not event.signature.startswith(PLATFORM):
            return False
        if event.signature.startswith("slurm."):
            return folder_of(event.file) in {folder_of(f) for f in self.files}
        if not event.signature.startswith(OF_PODS):
            return event.file in self.files
        name = name_of(event) or self.owners.get(event.file, "")
        if (refused := _REFUSED.search(event.text)) and not self.jobs_are_over:
            pod = made_anew(refused["pod"])  # while its owner and the other pods may be well
            return any(made_anew(n) == pod for n in self.names)
        if not name:
            return event.file in self.files or (self.jobs and event.signature in UNOWNED)
        return any(name.startswith(n) or n.startswith(name) for n in self.names)


@dataclass(frozen=True, slots=True)
class Whole:
    """A job that came to its end, or goes on at full strength; and whose trouble cannot be its own."""

    folders: frozenset[str]
    is_over: bool  # by an object, or by all its pods
    has_pods: bool
    until: float  # seconds since 1970, when it was last seen to do well; 0 where that is not known
    nodes: frozenset[str] = frozenset()  # that its pods are on, as far as they tell

    @classmethod
    def of(
        cls,
        objects: Objects,
        progress: Progress,
        good: Sequence[str],
        others: Collection[str],
        ends: Sequence[str] = (),
    ) -> Whole | None:
        """None where nothing shows a whole job, or something shows one that is not.

        `good` are logs that end well, `ends` those of them in which the job says that it is done.
        """
        pods = [p for p in objects.of("Pod") if p.name not in others and not PLATFORM_SPACES.search(p.namespace)]
        again = {made_anew(p.name) for p in pods if str(p.get("status.phase")) in WELL}
        jobs = [o for kind in JOBS for o in objects.of(kind)]
        if any(is_unwell(p) and made_anew(p.name) not in again for p in pods):
            return None
        if failed_jobs(objects):
            return None
        over = [o for o in jobs if _succeeded(o)]
        ended = bool(pods) and all(str(p.get("status.phase")) in WELL for p in pods)
        if not good and not over and not ended:
            return None
        told = [*good, *(o.file.name for o in over), *(p.file.name for p in pods if ended)]
        until = max((progress.moments.get(f, 0.0) for f in good), default=0.0)
        folders = frozenset(folder_of(f) for f in told)
        nodes = frozenset(n for p in pods if (n := str(p.get("spec.nodeName") or "")))
        return cls(folders, bool(over or ended or ends), bool(pods), until, nodes)

    def covers(self, event: Event, alone: bool) -> bool:
        """Whether a platform's trouble did it no harm: it was before the job was last seen to do well.

        Where it is not alone, only what times prove is: other trouble may be another job's.
        """
        if folder_of(event.file) not in self.folders or not (
            is_of_the_platform(event) or event.signature in OF_MEETING
        ):
            return False
        if event.when and event.when.clock == "wall" and self.until and event.when.year != UNKNOWN_YEAR:
            notice = NOTICE_SECONDS if event.signature == "node.interruption" else 0.0
            before = event.when.seconds + notice <= self.until
            return (before and (alone or not is_of_a_job(event))) or (alone and self.is_over)
        lost = event.signature.startswith("node.") and any(node in event.text for node in self.nodes)
        return alone and (self.is_over or (self.has_pods and not lost))


def folder_of(file: str) -> str:
    """Where a file lies: what is put side by side is most often of one job."""
    return str(PurePosixPath(file).parent)


def failed_jobs(objects: Objects) -> list[Object]:
    """The jobs of which an object says that they failed."""
    jobs = (o for kind in JOBS for o in objects.of(kind))
    return [o for o in jobs if any(c.get("type") == "Failed" and c.get("status") == "True" for c in _conditions(o))]


def made_anew(pod: str) -> str:
    """What the pods of one index of a Job share, which makes another where one failed; else the whole name."""
    return re.sub(r"-[bcdfghjklmnpqrstvwxz2456789]{5}$", "", pod)  # the letters that Kubernetes names pods with


def _conditions(one: Object) -> list[dict[str, Any]]:
    return [c for c in one.items("status.conditions") if isinstance(c, dict)]


def _succeeded(job: Object) -> bool:
    return any(c.get("type") in _DONE and c.get("status") == "True" for c in _conditions(job))


def is_unwell(pod: Object) -> bool:
    """Whether a pod is neither done nor runs with all its containers as they were first started."""
    phase, ready = str(pod.get("status.phase")), str(pod.get("status.ready", ""))
    if phase in WELL:
        return False
    restarts = [str(c.get("restartCount", "0")) for c in pod.items("status.containerStatuses") if isinstance(c, dict)]
    again = [r for r in (str(pod.get("status.restarts", "0")), *restarts) if not re.match(r"0\b", r)]
    return phase != "Running" or bool(again) or ready.partition("/")[0] != ready.partition("/")[2]


def _ended_badly(pod: Object) -> bool:
    states = [(c.get("state") or {}).get("terminated") or {} for c in pod.items("status.containerStatuses")]
    return str(pod.get("status.phase")) not in (*WELL, *_RUNNING, "None") or any(s.get("exitCode") for s in states)


def _is_ready(pod: Object) -> bool:
    told = [c.get("ready") for c in pod.items("status.containerStatuses")]
    return pod.get("status.phase") == "Running" and bool(told) and all(told)


def _restarted(pod: Object) -> bool:
    return any(c.get("restartCount") for c in pod.items("status.containerStatuses"))


def _is_whole(pod: Object) -> bool:
    """Whether a table shows a pod that runs with all its containers and was never restarted."""
    ready, _, wanted = str(pod.get("status.ready", "")).partition("/")
    return pod.get("status.phase") == "Running" and ready == wanted != "" and str(pod.get("status.restarts")) == "0"
