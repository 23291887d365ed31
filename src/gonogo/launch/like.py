"""The user's own job as a pattern: its pod template, how many pods it has, and what kind it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from gonogo.documents.yamlfile import LOADER, MOST_DEPTH, MOST_VALUES, name_of, read_file
from gonogo.errors import InputError, escaped
from gonogo.launch.commands import with_told
from gonogo.launch.kinds import (
    ADDED_LABELS,
    CONTROLLERS,
    KINDS,
    RAY,
    RUNTIME,
    RUNTIMES,
    SERVING,
    Dict,
    asks_for_accelerators,
    mapping,
    mappings,
    with_shared_memory,
)
from gonogo.launch.podtemplate import TemplateError, checked
from gonogo.launch.ranks import ranks_of
from gonogo.launch.refusals import no_job, of_template, refuse_unfilled, unreadable
from gonogo.launch.templates import remark_on


@dataclass(frozen=True, slots=True)
class Pattern:
    """What of a manifest decides where pods run and what they get."""

    kind: str  # apiVersion/kind
    namespace: str
    pods: int  # 0: it doesn't say
    template: Mapping[str, Any]  # a pod template: metadata and spec
    added_labels: Mapping[str, str] = field(default_factory=dict)  # what its controller adds to those of the template
    services: tuple[Mapping[str, Any], ...] = ()  # of the same manifest
    ranks: int = 0  # training processes of one pod; 0: it doesn't say
    remark: str = ""  # what of the job it leaves out, such as pod templates that differ from the one that is taken
    name: str = ""

    @property
    def rank(self) -> tuple[bool, int]:
        """Greater for what trains than for what only serves it, such as an etcd in the same manifest."""
        return asks_for_accelerators(self.template), -list(KINDS).index(self.kind.rpartition("/")[2])


def load(path: Path) -> Pattern:
    """The training job of a manifest; `-` is stdin. Raises InputError with file, and line and column where known."""
    data, path = read_file(path, "give the job's manifest alone"), Path(name_of(path))
    try:
        documents = list(yaml.load_all(data, Loader=LOADER))  # a safe loader
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise unreadable(error, data, path) from None
    _bear(documents, path)
    every = list(_objects(documents))
    kinds = {str(item.get("kind")) for item in every}
    items = [_with_runtime(item, every) for item in every]
    items = [item for item in items if item.get("kind") not in RUNTIMES or "TrainJob" not in kinds]
    try:
        found = sorted(filter(None, map(pattern, items)), key=lambda p: p.rank, reverse=True)
    except TemplateError as error:
        raise of_template(error, data, path) from None
    unknown = [i for i in every if str(i.get("kind")) not in KINDS and _makes_pods(i)]
    if not found or (unknown and found[0].kind.rpartition("/")[2] in SERVING):
        raise no_job(unknown if found else every, data, path)
    refuse_unfilled(found[0].namespace, found[0].template, _of_kind(items, found[0].kind), data, path)
    services = tuple(i for i in items if i.get("kind") == "Service")
    return replace(_among(found), services=services)


def _among(found: Sequence[Pattern]) -> Pattern:
    """The first of several, with a word on those that could be meant as well; bare Pods are one job together."""
    first = found[0]
    alike = [p for p in found if p.rank == first.rank]
    if len(alike) == 1:
        return first
    if first.kind.endswith("/Pod"):
        return replace(first, pods=len(alike))
    others = ", ".join(p.name or "one without a name" for p in alike[1:])
    kind = first.kind.rpartition("/")[2]
    remark = f"Of the file's {len(alike)} {kind}s {first.name or 'the first'} is taken, and not {others}."
    return replace(first, remark=f"{escaped(remark)} {first.remark}".strip())


def _bear(documents: list[Any], path: Path) -> None:
    """Refuse what aliases blow up, or nest too deep to be walked."""
    stack, seen = [(value, 0) for value in documents], 0
    while stack:
        value, depth = stack.pop()
        seen += 1
        if seen > MOST_VALUES or depth > MOST_DEPTH:
            raise InputError(f"{path}: holds more than {MOST_VALUES} values, or more than {MOST_DEPTH} within another.")
        if isinstance(value, Mapping | list):
            stack += [(v, depth + 1) for v in (value.values() if isinstance(value, Mapping) else value)]


def _of_kind(items: list[Dict], kind: str) -> list[Dict]:
    return [item for item in items if str(item.get("kind")) == kind.rpartition("/")[2]]


def _makes_pods(value: object) -> bool:
    """Whether a pod's containers stand anywhere below."""
    if isinstance(value, Mapping):
        return bool(mappings(value.get("containers"))) or any(map(_makes_pods, value.values()))
    return isinstance(value, list) and any(map(_makes_pods, value))


def pattern(item: Dict) -> Pattern | None:
    """What one object says, or None: a kind that makes no pods. Raises TemplateError."""
    kind = str(item.get("kind", ""))
    read = KINDS.get(kind)
    if not read:
        return None
    pods, template = read(mapping(item.get("spec")) if kind != "Pod" else item)
    if not mapping(template.get("spec")).get("containers"):
        return None
    template = checked(template)
    remarks = [remark_on(item, template)]
    ranks = ranks_of(item, template)
    spec = with_told(item, template["spec"])
    spec, left = _mountable(with_shared_memory(spec) if kind in RAY else spec)
    if left:
        remarks.append(f"Not mounted, as the pod template has no volume for it: {', '.join(left)}.")
    if kind == "TrainJob" and RUNTIME not in mapping(item.get("spec")):
        name = mapping(mapping(item.get("spec")).get("runtimeRef")).get("name", "")
        remarks.append(f"What the runtime {name} says of the TrainJob's pods is not known: the file doesn't hold it.")
    metadata, of_pods = mapping(item.get("metadata")), mapping(template.get("metadata"))
    labels, added = _apart({**mapping(metadata.get("labels")), **mapping(of_pods.get("labels"))})
    notes, _ = _apart(mapping(of_pods.get("annotations")))
    name = str(metadata.get("name") or "")
    return Pattern(
        f"{item.get('apiVersion', '')}/{kind}",
        str(metadata.get("namespace") or ""),
        pods,
        {"metadata": {"labels": labels, "annotations": notes}, "spec": spec},
        added | (dict.fromkeys(ADDED_LABELS.get(kind, ()), name) if name else {}),
        ranks=ranks,
        remark=escaped(" ".join(filter(None, remarks))),
        name=name,
    )


def _apart(found: Dict) -> tuple[dict[str, str], dict[str, str]]:
    """Labels or annotations that are the user's, and those that a controller wrote."""
    texts = {key: str(value) for key, value in found.items()}
    added = {key: value for key, value in texts.items() if key.startswith(CONTROLLERS)}
    return {key: value for key, value in texts.items() if key not in added}, added


def _mountable(spec: Dict) -> tuple[dict[str, Any], list[str]]:
    """A pod's spec without mounts that it has no volume for, as those of a StatefulSet's volumeClaimTemplates."""
    known = {v.get("name") for v in spec.get("volumes") or []}
    left: dict[str, None] = {}
    containers = []
    for container in spec["containers"]:
        mounts = container.get("volumeMounts") or []
        left |= {str(m["mountPath"]): None for m in mounts if m.get("name") not in known}
        kept = [m for m in mounts if m.get("name") in known]
        containers.append({**container, "volumeMounts": kept} if mounts else container)
    return {**spec, "containers": containers}, list(left)


def _objects(documents: list[Any]) -> Iterator[Dict]:
    """All objects of a file: those of a List, and those that an AppWrapper wraps, too."""
    for document in filter(lambda d: isinstance(d, dict), documents):
        items = document.get("items")
        if isinstance(items, list):
            yield from _objects(items)
        elif document.get("kind") == "AppWrapper":
            yield from _objects([c.get("template") for c in mappings(mapping(document.get("spec")).get("components"))])
        else:
            yield document


def _with_runtime(item: Dict, others: list[Dict]) -> Dict:
    """A TrainJob with its runtime's spec, where the same manifest holds that."""
    if item.get("kind") != "TrainJob":
        return item
    spec = mapping(item.get("spec"))
    name = mapping(spec.get("runtimeRef")).get("name")
    for other in others:
        if other.get("kind") in RUNTIMES and mapping(other.get("metadata")).get("name") == name:
            return {**item, "spec": {**spec, RUNTIME: other.get("spec")}}
    return item
