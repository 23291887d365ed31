"""Commands with the values that stand in the evidence; what nobody has told stays a <placeholder>."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.rules import security_groups
from gonogo.model import Diagnosis

_MOST_TEXTS = 20_000  # strings of events and objects that are looked through
_DEEPEST = 12
_REGION = r"[a-z]{2}(?:-gov|-iso[a-z]?)?-(?:north|south|east|west|central)(?:east|west)?-\d"
_HOLDER = re.compile(r"<([a-z]+(?:-[a-z]+)*)>")
_AWS = re.compile(r"\baws (?!iam |organizations |sts |configure )([a-z0-9-]+) ([a-z-]+)(?=\s|$)(?!.* --region )")
_KUBECTL = re.compile(
    r"\bkubectl (?!-n |--namespace)(?=(?:logs|exec|(?:get|describe|top|delete|patch) "
    r"(?:pods?|pvc|events|endpoints|services?|jobs?|resourcequota|networkpolic(?:y|ies)|workloads?)\b)"
    r"(?!.* (?:-A|--all-namespaces|-n )\b))"
)
_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "region": (rf"\b({_REGION})(?=[a-f]?\b)",),
    "account": (r"\barn:aws[\w-]*:[\w-]*:[\w-]*:(\d{12}):", r"\b(\d{12})\.dkr\.ecr\."),
    "repository": (r"\.dkr\.ecr\.[\w-]+\.amazonaws\.com(?:\.cn)?/(?!v2/)([\w./-]*\w)",),
    "image": (r"\bimage \\?\"([^\"\\\s]+)", r"\bImage: +(\S+)"),
    "instance-type": (r"\b([a-z]+\d[a-z]*(?:-[a-z0-9]+)?\.(?:\d*x?large|medium|metal(?:-\d+xl)?))\b",),
    "cluster": (
        r"\barn:aws[\w-]*:eks:[\w-]+:\d+:cluster/([\w-]+)",
        r"\bkubernetes\.io/cluster/([\w-]+)",
        r"\balpha\.eksctl\.io/cluster-name[\"=: ]+([\w-]+)",
    ),
    "node-group": (r"\beks\.amazonaws\.com/nodegroup[\"=: ]+([\w-]+)",),
    "instance": (r"\b(i-[0-9a-f]{8,17})\b",),
    "subnet": (r"\b(subnet-[0-9a-f]{8,17})\b",),
    "vpc": (r"\b(vpc-[0-9a-f]{8,17})\b",),
    "file-system": (r"\b(fs-[0-9a-f]{8,17})\b",),
    "file-system-address": (r"\b(fs-[0-9a-f]{8,17}\.(?:fsx|efs)\.[\w.-]+\.amazonaws\.com)",),
    "launch-template": (r"\b(lt-[0-9a-f]{8,17})\b",),
    "node": (r"\b((?:ip|i)-[0-9a-f-]+\.(?:[\w-]+\.compute|ec2)\.internal)\b",),
}
_FAR = ("region", "account", "cluster", "node-group", "vpc", "file-system", "file-system-address", "instance-type")
"""What one job mostly has one of: of these, the only one that stands anywhere is meant."""
_FIELDS = {
    "cluster": ("clusterName",),
    "node-group": ("nodegroupName",),
    "vpc": ("VpcId",),
    "file-system": ("FileSystemId",),
    "file-system-address": ("DNSName",),
    "instance-type": ("InstanceType",),
}
_WORD = re.compile(r"[A-Za-z0-9][\w./:@-]*")
_WHICH = {"pod": "kubectl get pods -A -o wide", "node": "kubectl get nodes -o wide"}


@dataclass(frozen=True)
class Known:
    """The values that logs and objects name, to be put into commands."""

    events: Events
    objects: Objects
    _far: dict[str, str] = field(default_factory=dict, init=False)

    def filled(self, diagnosis: Diagnosis) -> Diagnosis:
        """The same diagnosis, its commands with the region, namespace and names that the evidence has."""
        near = [diagnosis.summary, *(e.text for e in diagnosis.evidence)]
        pods = [s.name for s in diagnosis.subjects if s.kind == "pod"]
        commands: list[str] = []
        for command in diagnosis.commands:
            command = self._command(command, near, pods)
            left = [h for h in _HOLDER.findall(command) if h in _WHICH]
            commands += [f"{_WHICH[h]}  # which is <{h}>" for h in left]
            commands.append(command)
        return replace(
            diagnosis,
            commands=tuple(dict.fromkeys(commands)),
            next_observation=self._command(diagnosis.next_observation, near, pods),
        )

    def _command(self, command: str, near: Sequence[str], pods: Sequence[str]) -> str:
        command = _HOLDER.sub(lambda m: self._value(m[1], near, pods) or m[0], command)
        if _AWS.search(command) and (region := self._value("region", near, pods)):
            command = _AWS.sub(rf"aws \1 \2 --region {region}", command)
        if _KUBECTL.search(command):
            named = [p.get("metadata.name") for p in self.objects.of("Pod") if str(p.get("metadata.name")) in command]
            space = self._namespace([*pods, *map(str, named)], near)
            command = _KUBECTL.sub(f"kubectl -n {space} ", command) if space else command
        return command

    def _value(self, name: str, near: Sequence[str], pods: Sequence[str]) -> str:
        """The one that the diagnosis's own evidence names; for what a job has one of, the only one anywhere."""
        if name == "node-security-group":
            return _only(g.id for g in security_groups(self.objects) if g.is_of_nodes)
        if name == "namespace":
            return self._namespace(pods, near)
        own = self._of_pods(name, pods)
        return own or _only(_found(name, near)) or (self._anywhere(name) if name in _FAR else "")

    def _of_pods(self, name: str, pods: Sequence[str]) -> str:
        """The image or node of the pods that it is about."""
        about = [p for p in self.objects.of("Pod") if p.get("metadata.name") in pods]
        if name == "image":
            return _only(str(c["image"]) for p in about for c in p.items("spec.containers") if c.get("image"))
        return _only(str(p.get("spec.nodeName")) for p in about if p.get("spec.nodeName")) if name == "node" else ""

    def _namespace(self, pods: Sequence[str], near: Sequence[str]) -> str:
        """That of the pods, or of all pods; nothing for the default one."""
        told = [(str(p.get("metadata.name")), str(p.get("metadata.namespace") or "")) for p in self.objects.of("Pod")]
        own = [space for name, space in told if name in pods] or [space for _, space in told]
        seen = re.compile(r"(?:\bassigned |\bpod[/=\" ]+|\bpod=\")([a-z0-9-]+)/[a-z0-9][a-z0-9.-]*")
        texts = (e.text for e in self.events.of("k8s.*", "host.node_name").all[:200])
        space = _only(own) or _only(m for text in (*near, *texts) for m in seen.findall(text))
        return "" if space == "default" else space

    def _anywhere(self, name: str) -> str:
        if name not in self._far:
            fields = _FIELDS.get(name, ())
            values = [v for key, v in self._texts if key in fields and v]
            self._far[name] = _only(values) or _only(_found(name, [text for _, text in self._texts]))
        return self._far[name]

    @cached_property
    def _texts(self) -> list[tuple[str, str]]:
        """All strings of objects, with their keys, and of events; bounded."""
        found = [("", e.text) for e in self.events.all[:_MOST_TEXTS]]
        for one in self.objects.all:
            if len(found) > 2 * _MOST_TEXTS:
                break
            found += _strings(one.data, "", 0)
        return found


def in_region(diagnosis: Diagnosis, *target: str) -> Diagnosis:
    """The same diagnosis, its commands for AWS with the region that the target's words or its own evidence name."""
    region = _only(_found("region", target)) or _only(_found("region", [e.text for e in diagnosis.evidence]))
    if not region:
        return diagnosis
    commands = tuple(_AWS.sub(rf"aws \1 \2 --region {region}", c) for c in diagnosis.commands)
    return replace(diagnosis, commands=commands)


def _strings(value: Any, key: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(inner, str):
                yield str(name), f"{name}: {inner}" if "/" in str(name) else inner
            else:
                yield "", str(name)
                yield from _strings(inner, str(name), depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner, key, depth + 1)
    elif isinstance(value, str):
        yield key, value


def _found(name: str, texts: Sequence[str]) -> Iterator[str]:
    patterns = [re.compile(p) for p in _PATTERNS.get(name, ())]
    for text in texts:
        for pattern in patterns:
            yield from pattern.findall(text)
        if name == "region" and ".ec2.internal" in text:
            yield "us-east-1"


def _only(values: Iterable[str]) -> str:
    """The one value that all are; "" for none, where they differ, and for what a shell wouldn't take for one word."""
    different = {v for v in values if v}
    only = different.pop() if len(different) == 1 else ""
    return only if _WORD.fullmatch(only) else ""
