"""The pods of a run as they come up, in the words of the scheduler and the kubelet: watched from the first second."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gonogo.clients.kube import EVENTS, JOBS, PODS, Cluster, Gone, KubeError, Object
from gonogo.documents.kubernetes import PodStart

INDEX = "batch.kubernetes.io/job-completion-index"
WATCH_SECONDS = 60
_EVENTS_SECONDS = 1.5
PULLING = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable")
PATIENCE_SECONDS = {  # how long a reason must last before it is believed
    "Unschedulable": 4.0,
    "FailedCreate": 1.0,
    "Queued": 10.0,
    "FailedMount": 12.0,
    "FailedAttachVolume": 20.0,
    "FailedCreatePodSandBox": 12.0,
    "CreateContainerConfigError": 4.0,
    **dict.fromkeys(PULLING, 0.5),
}
TELLING_EVENTS = ("FailedCreate", "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "Preempted", "Evicted")


@dataclass(slots=True)
class PodWatch:
    """What is known of each index's pod; two threads keep it fresh until `stop`."""

    cluster: Cluster
    namespace: str
    job: str
    selector: str
    count: int
    queue: str = ""  # what decides when the job starts, if anything does
    began: float = field(default_factory=time.monotonic)
    failure: KubeError | None = None  # the pods can't be watched at all
    _held: str = ""  # by the queue: in a sentence
    _starts: dict[int, PodStart] = field(default_factory=dict)
    _addresses: dict[int, str] = field(default_factory=dict)
    _since: dict[tuple[int, str], float] = field(default_factory=dict)  # when a reason was first seen
    _stopped: threading.Event = field(default_factory=threading.Event)
    changed: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        """Begin to watch."""
        for target in (self._watch, self._listen):
            threading.Thread(target=target, name=f"{self.job}:{target.__name__}", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def pods(self) -> tuple[PodStart, ...]:
        """One for each index; those that don't exist yet are `absent`."""
        with self._lock:
            why = ("Queued", self._held) if self._held else ("", "")
            return tuple(
                self._starts.get(i, PodStart(f"{self.job}-{i}", i, "", "absent", *why)) for i in range(self.count)
            )

    def address(self, index: int) -> str:
        """The pod's address, or ""."""
        return self._addresses.get(index, "")

    def settled(self) -> bool:
        """Whether every pod runs, has ended, or is known not to start."""
        return all(self.verdict(pod) != "" for pod in self.pods())

    def verdict(self, pod: PodStart) -> str:
        """`ran`, `stuck`, or "" while it may still start."""
        if pod.state in ("running", "ended"):
            return "ran"
        limit = PATIENCE_SECONDS.get(pod.reason)
        since = self._since.get((pod.index, pod.reason))
        return "stuck" if limit is not None and since is not None and time.monotonic() - since >= limit else ""

    def _watch(self) -> None:
        version = ""
        while not self._stopped.is_set():
            try:
                if not version:
                    found, version = self.cluster.objects(PODS, self.namespace, self.selector)
                    for item in found:
                        self._take(item)
                for kind, item in self.cluster.watch(
                    PODS, self.namespace, self.selector, version=version, seconds=WATCH_SECONDS
                ):
                    version = item["metadata"].get("resourceVersion", version)
                    if kind != "BOOKMARK":
                        self._take(item, gone=kind == "DELETED")
                    if self._stopped.is_set():
                        return
                self.failure = None
            except Gone:
                version = ""
            except KubeError as error:
                self.failure = error
                version = ""
                self._stopped.wait(1.0)

    def _listen(self) -> None:
        """Warnings about the Job and its pods: what keeps a pod from being made or mounted stands only there."""
        while not self._stopped.wait(_EVENTS_SECONDS):
            try:
                if self.queue and not self._starts:
                    self._ask_queue()
                found, _ = self.cluster.objects(EVENTS, self.namespace, fields="type=Warning")
            except KubeError:
                continue  # events are a help, not a need
            for event in found:
                about = event.get("involvedObject") or {}
                reason = event.get("reason", "")
                if reason in TELLING_EVENTS and str(about.get("name", "")).startswith(self.job):
                    self._hear(about, reason, str(event.get("message", "")))

    def _ask_queue(self) -> None:
        """Whether the job, which has no pod yet, is still suspended."""
        job = self.cluster.get(JOBS, self.job, self.namespace)
        held = bool((job.get("spec") or {}).get("suspend"))
        with self._lock:
            self._held = f"queue {self.queue} has not admitted the Job, which is suspended" if held else ""
            for index in range(self.count):
                if held:
                    self._since.setdefault((index, "Queued"), time.monotonic())
                else:
                    self._since.pop((index, "Queued"), None)
        self.changed.set()

    def _hear(self, about: Mapping[str, Any], reason: str, message: str) -> None:
        with self._lock:
            for index in range(self.count):
                pod = self._starts.get(index)
                if about.get("kind") == "Job" and pod is None:
                    self._put(PodStart(f"{self.job}-{index}", index, "", "absent", reason, message))
                elif pod and pod.pod == about.get("name") and pod.state == "waiting" and pod.reason not in PULLING:
                    self._put(replace(pod, reason=reason, message=message))
        self.changed.set()

    def _take(self, item: Object, gone: bool = False) -> None:
        notes = item["metadata"].get("annotations") or {}
        if not notes.get(INDEX, "").isdigit() or int(notes[INDEX]) >= self.count:
            return
        index = int(notes[INDEX])
        with self._lock:
            old = self._starts.get(index)
            new = pod_start(item, index, time.monotonic() - self.began)
            if old and old.pod == new.pod and old.state == "running":
                new = replace(new, seconds=old.seconds)
            if old and new.state == "waiting" and not new.reason:
                new = replace(new, reason=old.reason if old.reason in TELLING_EVENTS else "", message=old.message)
            if gone and new.state == "running":
                new = replace(new, state="ended", reason="Deleted", message="the pod was deleted while it ran")
            self._addresses[index] = (item.get("status") or {}).get("podIP", "") or self._addresses.get(index, "")
            self._put(new)
        self.changed.set()

    def _put(self, pod: PodStart) -> None:
        self._starts[pod.index] = pod
        if pod.reason:
            self._since.setdefault((pod.index, pod.reason), time.monotonic())


def pod_start(item: Object, index: int, seconds: float) -> PodStart:
    """What a pod's status says of how far it came."""
    status = item.get("status") or {}
    name, node = item["metadata"]["name"], (item.get("spec") or {}).get("nodeName", "")
    containers = status.get("containerStatuses") or []
    state = containers[0].get("state") or {} if containers else {}
    base = PodStart(name, index, node, "waiting", seconds=seconds)
    if ended := state.get("terminated"):
        code = ended.get("exitCode")
        reason = "" if code == 0 else status.get("reason") or ended.get("reason", "Error")
        message = ended.get("message") or status.get("message", "")
        return replace(base, state="ended", reason=reason, message=_last_line(message), exit_code=code)
    if status.get("phase") == "Failed":  # rejected by the kubelet, evicted, or lost with its node
        reason = status.get("reason", "Failed")
        return replace(base, state="ended", reason=reason, message=status.get("message", ""), exit_code=-1)
    if "running" in state:
        reason, message = _lost_node(status)
        return replace(base, state="running", reason=reason, message=message)
    waiting = state.get("waiting") or {}
    if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
        return replace(base, reason=str(waiting["reason"]), message=waiting.get("message", ""))
    for condition in status.get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return replace(base, state="unscheduled", reason=condition.get("reason", ""),
                           message=condition.get("message", ""))  # fmt: skip
    return base


def _lost_node(status: Mapping[str, Any]) -> tuple[str, str]:
    """The control plane marks a pod unready, or for disruption, when its node stops answering."""
    for condition in status.get("conditions") or []:
        kind, value = condition.get("type"), condition.get("status")
        if kind == "DisruptionTarget" and value == "True":
            return str(condition.get("reason", "Disrupted")), str(condition.get("message", ""))
        if kind == "Ready" and (value == "Unknown" or condition.get("reason") == "NodeLost"):
            return "NodeLost", str(condition.get("message", ""))
    return "", ""


def _last_line(text: str) -> str:
    lines = [line for line in re.split(r"[\r\n]+", text.strip()) if line and not line.startswith('{"v":')]
    return lines[-1] if lines else ""
