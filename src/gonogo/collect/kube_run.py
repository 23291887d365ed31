"""Agents in pods: applies the run, watches its pods, follows their logs, hands out each step, and takes all away."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from gonogo.agent.build import build
from gonogo.agent.spec import STEPS
from gonogo.clients.kube import NAMESPACES, PODS, KubeError, Unreachable
from gonogo.collect.kube_logs import Logs
from gonogo.collect.kube_pods import PodWatch
from gonogo.collect.kubernetes import KubernetesTarget
from gonogo.collect.local import steps_for
from gonogo.collect.roll import Roll
from gonogo.documents import kubernetes as k
from gonogo.documents.bundle import Bundle
from gonogo.documents.kubernetes import AdmissionDocument, CleanupDocument, EndsDocument, PodsDocument, PodStart
from gonogo.documents.records import LOGS, CollectivesLog, LinksLog, NodeLog, PortsLog, StepLog, StorageLog, TrainLog
from gonogo.facts.kube_cluster import Namespace
from gonogo.facts.kube_nodes import ChosenNodes
from gonogo.facts.kube_workload import Workload
from gonogo.kernel import Control, Lost, Progress
from gonogo.launch import pods
from gonogo.launch.manifests import START_SECONDS, Design, design, pod
from gonogo.model import Level, Status
from gonogo.plan import Plan

_TICK_SECONDS = 0.25
_LOGS = (NodeLog, PortsLog, LinksLog, CollectivesLog, StorageLog, TrainLog)
FABRIC = "fabric"
READ_SECONDS = 60.0
DELETION_SECONDS = pods.GONE_SECONDS + 10.0


@dataclass(slots=True)
class Session:
    """Whether what a run made is gone: what the program waits for before it ends."""

    started: threading.Event = field(default_factory=threading.Event)
    cleaned: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float) -> bool:
        """False if something was started and isn't known to be gone after that time."""
        return not self.started.is_set() or self.cleaned.wait(seconds)


def design_of(
    target: KubernetesTarget, plan: Plan, workload: Workload, nodes: ChosenNodes, namespace: Namespace | None,
    steps: tuple[str, ...] = STEPS,
) -> Design:  # fmt: skip
    """The run as it will be applied."""
    restricted = (namespace or _namespace(target)).enforced == "restricted"
    level = "quick" if target.level == "read" else target.level
    names = [n.labels.get("kubernetes.io/hostname", n.name) for n in nodes.present.values()]
    workload = replace(workload, count=min(workload.count, len(names)))  # more would only be waited for
    return design(workload, plan, run=target.run, level=level, steps=steps, nodes=names, restricted=restricted)


def _namespace(target: KubernetesTarget) -> Namespace:
    """For a run that reads no namespaces otherwise; one that may not be read is taken for an unlabelled one."""
    name = target.scope.namespace
    try:
        labels = target.cluster.get(NAMESPACES, name)["metadata"].get("labels") or {}
    except KubeError:
        labels = {}
    return Namespace(name, True, labels)


def ask_admission(
    target: KubernetesTarget,
    plan: Plan,
    workload: Workload,
    nodes: ChosenNodes,
    namespace: Namespace | None,
    bundle: Bundle,
) -> AdmissionDocument | Lost:
    """Create one pod of the run with dryRun: admission answers, nothing is made."""
    asked = pod(design_of(target, plan, workload, nodes, namespace))
    try:
        made, warnings = target.cluster.create(PODS, asked, dry_run=True)
        resources = made.get("spec", {}).get("containers", [{}])[0].get("resources") or {}
        limits = {name: str(amount) for name, amount in (resources.get("limits") or {}).items()}
        document = AdmissionDocument(True, 201, "", tuple(warnings), limits)
    except KubeError as error:
        message = str(error.status.get("message") or error)
        if isinstance(error, Unreachable) or 'cannot create resource "pods"' in message:
            return Lost(f"{error} Without it, admission can't be asked beforehand.")
        document = AdmissionDocument(False, error.code, message)
    bundle.write(document.file, k.answer_json(document))
    return document


def starts_pods(level: Level, wanted: frozenset[type]) -> bool:
    """Whether these documents take pods."""
    return level != "read" and bool(wanted & {*LOGS.values(), PodsDocument, EndsDocument, CleanupDocument})


def bound_for(plan: Plan, level: Level, nodes: int, run: str, wanted: frozenset[type]) -> float:
    """The upper bound of a run on so many nodes, in seconds: reading, starting, all steps, and the deletion."""
    if not starts_pods(level, wanted):
        return READ_SECONDS
    asked = Workload("", max(1, nodes), {"containers": [{}]})
    run_seconds = design(asked, plan, run=run, level=level, steps=steps_for(wanted), nodes=()).seconds
    return READ_SECONDS + run_seconds + pods.GONE_SECONDS


def run_pods(
    target: KubernetesTarget, plan: Plan, workload: Workload, nodes: ChosenNodes, namespace: Namespace | None,
    session: Session, bundle: Bundle, control: Control,
) -> Iterator[
    PodsDocument | NodeLog | PortsLog | LinksLog | CollectivesLog | StorageLog | TrainLog | EndsDocument
    | CleanupDocument | Lost
]:  # fmt: skip
    """One agent a pod, as far as documents are wanted; whatever happens, what was made is deleted, provenly."""
    run = design_of(target, plan, workload, nodes, namespace, steps_for(control.wanted))
    bundle.write(k.RUN_POD, json.dumps(pod(run)).encode())
    if not run.workload.count:
        yield Lost("No node is chosen, so no pod was started (SCH101).")
        return
    if not run.spec.storage_paths:
        yield Lost("The plan names no storage, and the pods mount no claim.", Status.SKIP, fact=StorageLog)
    made: list[str] = []
    error = ""
    session.started.set()
    try:
        made += pods.start(target.cluster, run, build())
        yield from _Agents(target, run, bundle, control).documents()
    except KubeError as failure:
        error = str(failure)
        yield Lost(error)
    finally:
        cleanup = _clean(target, run, made, bundle)
        session.cleaned.set()
    yield cleanup


def _clean(target: KubernetesTarget, run: Design, made: list[str], bundle: Bundle) -> CleanupDocument:
    began = time.monotonic()
    left: dict[str, str] = {}
    error = ""
    try:
        pods.delete(target.cluster, run.namespace, run.name)
        left = pods.gone(target.cluster, run.namespace, run.selector)
    except KubeError as failure:
        error = str(failure)
    document = CleanupDocument(tuple(made), tuple(left), round(time.monotonic() - began, 2), error, left)
    bundle.write(document.file, k.answer_json(document))
    return document


class _Agents:
    """The middle of a run: from the first pod to the last record."""

    def __init__(self, target: KubernetesTarget, run: Design, bundle: Bundle, control: Control) -> None:
        self._target, self._run, self._bundle, self._control = target, run, bundle, control
        cluster, count = target.cluster, run.workload.count
        self._watch = PodWatch(cluster, run.namespace, run.name, run.selector, count, run.queue)
        self._logs = Logs(cluster, run.namespace)
        self._names: dict[str, str] = {}  # pod's name in the spec -> node's name
        self._told: set[int] = set()  # whose end was recorded
        self._roll = Roll(run.spec)

    def documents(self) -> Iterator[Any]:
        self._watch.start()
        try:
            yield from self._start()
            if any(self._watch.verdict(p) == "ran" for p in self._watch.pods()):
                yield from self._records()
            elif not self._control.stopped.is_set():
                for log in _LOGS:
                    yield Lost("No pod of the run came to run (POD103).", fact=log)
            ends = EndsDocument(self._watch.pods())
            self._bundle.write(ends.file, k.answer_json(ends))
            yield ends
        finally:
            self._watch.stop()
            self._logs.stop()

    def _start(self) -> Iterator[PodsDocument]:
        """Until each pod runs or is known not to."""
        until = time.monotonic() + START_SECONDS
        while not self._control.stopped.is_set() and time.monotonic() < until and not self._watch.settled():
            self._watch.changed.wait(_TICK_SECONDS)
            self._watch.changed.clear()
            if isinstance(self._watch.failure, KubeError) and self._watch.failure.code in (401, 403):
                raise self._watch.failure
            running = sum(p.state in ("running", "ended") for p in self._watch.pods())
            self._control.progress(Progress("pods", running, self._run.workload.count))
        document = PodsDocument(self._watch.pods())
        self._bundle.write(document.file, k.answer_json(document))
        yield document
        self._name(document.pods)

    def _name(self, found: tuple[PodStart, ...]) -> None:
        """From here on agents go by the nodes that they are on; one without goes by a chosen node that has none."""
        spec = self._run.spec
        idle = [name for name in self._run.nodes if name not in {p.node for p in found}]
        without = [p.index for p in found if not p.node]
        would_be = dict(zip(without, idle, strict=False))
        self._names = {spec.peers[p.index]: p.node or would_be.get(p.index, spec.peers[p.index]) for p in found}
        peers = [self._names[name] for name in spec.peers]
        self._roll = Roll(replace(spec, peers=peers))
        built = [
            {"name": peers[p.index], "address": self._watch.address(p.index), "pod": p.pod, "index": p.index}
            for p in found
        ]
        self._note("built", nodes=built, made_of="pods", seconds=max((p.seconds for p in found), default=0.0))

    def _records(self) -> Iterator[StepLog | Lost]:
        until = time.monotonic() + self._run.seconds - START_SECONDS + 10.0
        until = min(until, self._control.deadline)
        followed: set[int] = set()
        while not self._roll.done() and not self._control.stopped.is_set():
            for p in self._watch.pods():
                if p.index not in followed and p.state in ("running", "ended"):
                    followed.add(p.index)
                    self._logs.follow(p.index, p.pod)
            if self._logs.refused:
                raise self._logs.refused
            self._drain()
            self._roll.excuse({self._roll.nodes[index] for index in tuple(self._logs.unheard)}, time.monotonic())
            self._ends()
            if time.monotonic() >= until:
                self._roll.lost("was cut off at the run's time limit")
            for log in self._roll.ready(time.monotonic()):
                self._note("over", **self._roll.mark(log))
                yield log
                if alone := self._alone():
                    yield from (Lost(alone, fact=rest) for rest in _LOGS if rest is not NodeLog)
                    return
            step, through, count = self._roll.standing(time.monotonic())
            self._control.progress(Progress(step, through, count))

    def _alone(self) -> str:
        """Why nothing more is worth waiting for: a pod without peers only waits for them itself."""
        pods = self._watch.pods()
        running = sum(self._watch.verdict(p) == "ran" for p in pods)
        stuck = sum(self._watch.verdict(p) == "stuck" for p in pods)
        enough = running > 1 or len(pods) == 1 or not stuck
        return "" if enough else f"{running} of {len(pods)} pods runs, and it takes two (POD103)."

    def _drain(self) -> None:
        """What came within a tick."""
        until = time.monotonic() + _TICK_SECONDS
        while (left := until - time.monotonic()) > 0:
            try:
                index, line = self._logs.lines.get(timeout=left)
            except queue.Empty:
                return
            self._take(index, line)

    def _take(self, index: int, line: bytes) -> None:
        """A line that is no record is kept, and otherwise passed over."""
        try:
            data = json.loads(line)
            if not isinstance(data, dict) or data["node"] != self._run.spec.peers[index]:
                raise ValueError(line)
        except (ValueError, KeyError):
            self._bundle.append("agents/stray.txt", line)
            return
        named = json.dumps(self._renamed(data), separators=(",", ":")).encode()
        written = self._bundle.append(f"agents/{self._names[data['node']]}.jsonl", named)
        self._roll.take(json.loads(written), time.monotonic())

    def _renamed(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._names.get(value, value)
        if isinstance(value, list):
            return [self._renamed(item) for item in value]
        if isinstance(value, dict):
            return {self._names.get(key, key): self._renamed(item) for key, item in value.items()}
        return value

    def _ends(self) -> None:
        """Pods that ended, or will never run, as the launcher's record of their agent's end."""
        for p in self._watch.pods():
            stuck = self._watch.verdict(p) == "stuck"
            if p.index in self._told or not (p.state == "ended" or stuck):
                continue
            if p.state == "ended" and p.exit_code == 0 and not self._logs.lines.empty():
                continue  # its last records first
            self._told.add(p.index)
            name = self._roll.nodes[p.index]
            if stuck:
                self._note(
                    "exit", of=name, code=None, signal=0, stderr=p.message, pod=p.pod, reason=f"never ran: {p.reason}"
                )
                continue
            code = p.exit_code if p.exit_code is not None else 1
            signal = code - 128 if 128 < code < 160 else 0
            more = {"reason": p.reason, "pod": p.pod} if p.reason else {"pod": p.pod}
            self._note("exit", of=name, code=None if signal else code, signal=signal, stderr=p.message, **more)

    def _note(self, kind: str, **fields: Any) -> None:
        record = {"v": 1, "run": self._run.spec.run, "node": FABRIC, "t": time.time(), "step": FABRIC, "kind": kind}
        line = json.dumps(record | fields, separators=(",", ":")).encode()
        self._roll.take(json.loads(self._bundle.append("agents/fabric.jsonl", line)), time.monotonic())
