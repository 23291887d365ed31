"""Objects: what the APIs and tools say is there, as dicts by kind, each able to cite its line.

Kinds are Kubernetes' own (`Pod`, `Node`), AWS's own keys (`SecurityGroups`, `nodegroup`, `Quota`), and `nvidia-smi`.
Rows of kubectl's tables become objects of their kind with the few fields that they show.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gonogo.documents.redact import redact
from gonogo.model import Evidence, Subject

if TYPE_CHECKING:  # reading objects takes a while to load, and most logs hold none
    from gonogo.documents.structured import Parsed

Path = tuple[str | int, ...]
MISSING: Any = None
DEEPEST = 24  # levels, in which a resource is looked for
LONGEST_LINE = 300  # in evidence, in characters


@dataclass(frozen=True, slots=True)
class Text:
    """A file that objects were read from; kept so that a line can be cited."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Object:
    """One object: its kind, its data, and where it stands."""

    kind: str
    data: Mapping[str, Any]
    file: Text
    parsed: Parsed
    path: Path = ()  # inside the parsed document
    bare: str = ""  # the key whose value alone the document is

    def __repr__(self) -> str:
        return f"{self.kind}/{self.name} in {self.file.name}"

    @property
    def name(self) -> str:
        """metadata.name, or "" for what has none."""
        return str(self.get("metadata.name") or "")

    @property
    def namespace(self) -> str:
        """metadata.namespace, or ""."""
        return str(self.get("metadata.namespace") or "")

    @property
    def is_table(self) -> bool:
        """Whether it is a row of a table, which shows only a part of the object."""
        return self.parsed.form == "table"

    def get(self, path: str | Path, default: Any = MISSING) -> Any:
        """The value at `a.b.0.c`, or the default where any part is absent; for keys with dots give a tuple."""
        value: Any = self.data
        for step in _steps(path):
            inside = step in value if isinstance(value, dict) else isinstance(value, list) and _within(value, step)
            if not inside:
                return default
            value = value[step]
        return default if value is None else value

    def items(self, path: str | Path) -> list[Any]:
        """The list at a path, or an empty one."""
        value = self.get(path)
        return value if isinstance(value, list) else []

    def dict(self, path: str | Path) -> dict[str, Any]:
        """The mapping at a path, or an empty one."""
        value = self.get(path)
        return value if isinstance(value, dict) else {}

    def cite(self, path: str | Path = (), text: str = "") -> Evidence:
        """The line that a value stands on, shown as it is, with what it means if `text` says so."""
        from gonogo.documents.structured import line_of

        steps = _steps(path)
        while steps and self.get(steps) is None:
            steps = steps[:-1]
        inside = steps[1:] if self.bare and steps[:1] == (self.bare,) else steps
        line = line_of(self.file.text, self.parsed, () if self.is_table else (*self.path, *inside))
        shown = _lines(self.file.text)[line - 1].strip() if self.file.text else ""
        if len(shown) > LONGEST_LINE and steps:  # the whole object on one line: its value says more than its head
            shown = f"{self.kind}/{self.name} {'.'.join(map(str, steps))}: {json.dumps(self.get(steps))}"
        if not shown.strip("{}[]-, ") or (shown.endswith(("[", "{")) and steps):  # a bracket proves nothing to a reader
            shown = text or (f"{self.kind}/{self.name} {'.'.join(map(str, steps))}: {json.dumps(self.get(steps))}")
            text = ""
        shown = redact(shown[:LONGEST_LINE].encode()).decode(errors="replace")
        return Evidence(f"{text} ({shown})" if text else shown, self.file.name, line)

    @property
    def subject(self) -> Subject:
        """The node, pod or object that it is."""
        if self.kind in ("Node", "Pod"):
            return Subject("node" if self.kind == "Node" else "pod", self.name)
        return Subject("object", f"{self.kind}/{self.name}" if self.name else self.kind)


@lru_cache(maxsize=4)
def _lines(text: str) -> list[str]:
    """The lines of a file; kept, since many of one are cited in a row."""
    return text.split("\n")


def _within(value: list[Any], step: str | int) -> bool:
    return isinstance(step, int) and step < len(value)


@lru_cache(maxsize=4096)
def _steps(path: str | Path) -> Path:
    if isinstance(path, str):
        return tuple(int(p) if p.isdigit() else p for p in path.split(".")) if path else ()
    return path


@dataclass(frozen=True, slots=True)
class Objects:
    """All objects, in the order in which they were read."""

    all: tuple[Object, ...] = ()
    by_kind: Mapping[str, tuple[Object, ...]] = field(default_factory=dict)

    @classmethod
    def made(cls, found: Iterable[Object]) -> Objects:
        """An index of what was found."""
        everything = tuple(found)
        kinds: dict[str, list[Object]] = {}
        for one in everything:
            kinds.setdefault(one.kind, []).append(one)
        return cls(everything, {kind: tuple(some) for kind, some in kinds.items()})

    def of(self, *kinds: str) -> tuple[Object, ...]:
        """Those of the given kinds."""
        return tuple(o for kind in kinds for o in self.by_kind.get(kind, ()))

    def named(self, kind: str, name: str) -> Object | None:
        """The one of that kind and name, the fullest where several speak of it."""
        found = [o for o in self.of(kind) if o.name == name]
        return next((o for o in found if not o.is_table), found[0] if found else None)

    def has(self, *kinds: str) -> bool:
        """Whether anything was said about one of these kinds, be it that there are none (an empty list)."""
        return any(k in self.by_kind or f"{k}List" in self.by_kind for k in kinds)


WORKLOADS = {
    "Pod": ((),),
    "PodTemplate": (("template",),),
    **dict.fromkeys(
        ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Job"), (("spec", "template"),)
    ),
}  # fmt: skip


def pod_specs(objects: Objects) -> Iterator[tuple[Object, Path]]:
    """Every pod spec there is, with the path to it: of pods, of workloads, of the training operators' jobs."""
    for one in objects.all:
        if one.is_table:
            continue
        for place in _templates(one):
            if isinstance(one.get((*place, "spec")), dict) and one.items((*place, "spec", "containers")):
                yield one, (*place, "spec")


def _templates(one: Object) -> Iterator[Path]:
    yield from WORKLOADS.get(one.kind, ())
    if one.kind == "CronJob":
        yield ("spec", "jobTemplate", "spec", "template")
    for key, replicas in one.dict("spec").items():
        if isinstance(replicas, dict) and key.endswith("ReplicaSpecs"):
            yield from (("spec", key, role, "template") for role in replicas)
        elif key == "replicatedJobs" and isinstance(replicas, list):
            yield from (("spec", key, i, "template", "spec", "template") for i in range(len(replicas)))
        elif (
            key == "template"
            and one.kind in ("TrainingRuntime", "ClusterTrainingRuntime")
            and isinstance(replicas, dict)
        ):
            jobs = one.items("spec.template.spec.replicatedJobs")
            yield from (
                ("spec", "template", "spec", "replicatedJobs", i, "template", "spec", "template")
                for i in range(len(jobs))
            )


def requests(one: Object, spec: Path, resource: str) -> int:
    """How many of a resource the containers of a pod spec ask for, by limit or request."""
    total = 0
    for i in range(len(one.items((*spec, "containers")))):
        place = (*spec, "containers", i, "resources")
        value = one.get((*place, "limits", resource)) or one.get((*place, "requests", resource)) or 0
        total += int(value) if str(value).isdigit() else 0
    return total


def read_objects(name: str, text: str, damage: list[str] | None = None) -> Iterator[Object]:
    """The objects in one file; `damage` is told what of it begins as one and can't be read."""
    from gonogo.documents.structured import parse

    file = Text(name, text)
    for parsed in parse(text, damage):
        yield from _objects(parsed.data, file, parsed, ())


def _objects(data: Any, file: Text, parsed: Parsed, path: Path, item_of: str = "") -> Iterator[Object]:
    from gonogo.facts.described import from_description
    from gonogo.facts.tables import from_row

    if parsed.form == "table":
        if row := from_row(data):
            yield Object(row[0], row[1], file, parsed)
        return
    if parsed.form == "csv":
        yield Object("csv", data, file, parsed)
        return
    if parsed.form == "described":
        if made := from_description(data):
            yield Object(made[0], made[1], file, parsed)
        return
    if parsed.form == "listing":
        yield Object("nvidia-smi", data, file, parsed)
        return
    if isinstance(data, list):
        if rows := _rules_of_acl(data):
            yield Object("NetworkAcls", {"Entries": rows}, file, parsed, path, "Entries")
            return
        for i, one in enumerate(data):
            if isinstance(one, dict):
                yield from _objects(one, file, parsed, (*path, i), item_of)
        return
    kind = data.get("kind")
    if kind is None and {"cpu", "memory", "pods"} <= data.keys():  # a --jsonpath of a node's status
        yield Object("Node", {"status": {"allocatable": data}}, file, parsed, path, "status")
        return
    if isinstance(data.get("items"), list) and (kind is None or str(kind).endswith("List")):
        inner = str(kind).removesuffix("List") if kind else ""
        if inner:
            yield Object(str(kind), data, file, parsed, path)
        yield from _objects(data["items"], file, parsed, (*path, "items"), inner)
    elif isinstance(kind, str) and kind[:1].isupper():
        yield Object(kind, data, file, parsed, path)
    elif item_of and any(isinstance(data.get(key), dict) for key in ("metadata", "involvedObject")):
        yield Object(item_of, data, file, parsed, path)
    elif kind is None and (guess := _kind_of(data)):
        yield Object(guess, data, file, parsed, path)
    elif not path or item_of == "":
        yield from _of_api(data, file, parsed, path)


def _kind_of(data: dict[str, Any]) -> str:
    """The kind of an object that somebody cut out of one, by what it holds; "" where that does not tell."""
    spec, status = data.get("spec"), data.get("status")
    spec, status = spec if isinstance(spec, dict) else {}, status if isinstance(status, dict) else {}
    if "containers" in spec or "containerStatuses" in status:
        return "Pod"
    if "allocatable" in status or "nodeInfo" in status or "providerID" in spec:
        return "Node"
    if any(key.endswith("ReplicaSpecs") for key in spec):
        return "MPIJob" if "mpiReplicaSpecs" in spec else "PyTorchJob"
    if "replicatedJobs" in spec:
        return "JobSet"
    if "policyTypes" in spec:
        return "NetworkPolicy"
    template = spec.get("template")
    if isinstance(template, dict) and isinstance(template.get("spec"), dict) and "containers" in template["spec"]:
        return "Job" if "completions" in spec or "parallelism" in spec or "backoffLimit" in spec else "Deployment"
    return "PersistentVolumeClaim" if "accessModes" in spec and "resources" in spec else ""


_API_KINDS: Mapping[str, set[str]] = {
    "SecurityGroups": {"GroupId", "IpPermissions"},
    "SecurityGroupRules": {"SecurityGroupRuleId", "IpProtocol"},
    "Subnets": {"AvailableIpAddressCount"},
    "RouteTables": {"RouteTableId", "Routes"},
    "NetworkAcls": {"NetworkAclId", "Entries"},
    "CapacityReservations": {"CapacityReservationId", "InstanceType"},
    "LaunchTemplateVersions": {"LaunchTemplateData", "VersionNumber"},
    "Activities": {"StatusCode", "StartTime"},
    "Quotas": {"QuotaCode", "Value"},
    "nodegroup": {"nodegroupName", "nodeRole"},
    "addon": {"addonName", "addonVersion"},
    "FileSystems": {"FileSystemId", "FileSystemType"},
}


def _rules_of_acl(rows: list[Any]) -> list[Any]:
    """The rows, where they are the entries of a network ACL that a --query took out of it."""
    return rows if rows and all(isinstance(r, dict) and {"RuleNumber", "RuleAction"} <= r.keys() for r in rows) else []


def _of_api(data: dict[str, Any], file: Text, parsed: Parsed, path: Path) -> Iterator[Object]:
    """AWS answers: `{"Subnets": [{…}]}` gives objects of kind Subnets, `{"nodegroup": {…}}` one of kind nodegroup.

    The whole answer is an object of kind `answer`, for those whose fields stand at the top.
    """
    yield Object("answer", data, file, parsed, path)
    if kind := next((k for k, keys in _API_KINDS.items() if keys <= data.keys()), ""):
        yield Object(kind, data, file, parsed, path)  # what a --query left of it
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield Object(key, value, file, parsed, (*path, key))
        elif isinstance(value, list):
            for i, one in enumerate(value):
                if isinstance(one, dict):
                    yield Object(key, one, file, parsed, (*path, key, i))


def asked(objects: Objects, resource: str) -> list[tuple[Object, Path]]:
    """Where an object asks for some of a resource, whatever operator's format it is in."""
    found: list[tuple[Object, Path]] = []
    for one in objects.all:
        if not one.is_table and one.kind not in ("Node", "answer", "csv", "nvidia-smi"):
            found += [(one, path) for path in _places(one.data, resource, (), 0)]
    return found


def _places(value: Any, key: str, path: Path, depth: int) -> Iterator[Path]:
    if depth > DEEPEST:
        return
    if isinstance(value, Mapping):
        if str(value.get(key, "0")) not in ("0", ""):
            yield (*path, key)
        for name, inner in value.items():
            yield from _places(inner, key, (*path, name), depth + 1)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _places(inner, key, (*path, i), depth + 1)
