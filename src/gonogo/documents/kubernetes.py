"""Kubernetes objects as documents: what `kubectl get KIND -o json` or `-o yaml` prints.

gonogo's own are `kubernetes/<plural>.json`: a List with one object a line, so that a line can be cited and a file that
was cut off still gives the objects that it has. A user's own dumps may have any name and hold any mixture of kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import msgspec

from gonogo.model import Evidence

FOLDER = "kubernetes/"
RUN_POD = f"{FOLDER}run-pod.json"  # one pod as it was asked for; no document
FOOT = b"]}"
_decode = msgspec.json.Decoder().decode
_EMPTY: Mapping[str, Any] = {}
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Object:
    """One object, and the line of the bundle that it stands on (0: somewhere in the file)."""

    data: Mapping[str, Any]
    file: str = ""
    line: int = 0

    @property
    def kind(self) -> str:
        return str(self.data.get("kind", ""))

    @property
    def name(self) -> str:
        return str(self.at("metadata", "name", default=""))

    @property
    def namespace(self) -> str:
        return str(self.at("metadata", "namespace", default=""))

    @property
    def labels(self) -> Mapping[str, str]:
        return self.mapping("metadata", "labels")

    def at(self, *path: str, default: Any = None) -> Any:
        """The value at a path of keys, or the default where any of them is absent or no mapping."""
        value: Any = self.data
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return default if value is None else value

    def mapping(self, *path: str) -> Mapping[str, Any]:
        """The mapping at a path; empty where there is none."""
        found = self.at(*path)
        return found if isinstance(found, Mapping) else _EMPTY

    def each(self, *path: str) -> Iterator[Mapping[str, Any]]:
        """The mappings of the list at a path; none where there is none."""
        found = self.at(*path)
        return (item for item in found if isinstance(item, Mapping)) if isinstance(found, list) else iter(())

    def evidence(self, text: str) -> Evidence:
        """This object as evidence, with what it says in words."""
        return Evidence(text, self.file, self.line)


@dataclass(frozen=True, slots=True)
class Objects:
    """All objects of one kind that could be seen; kept as JSON and decoded as they are walked."""

    plane: ClassVar[str] = "kubernetes"
    plural: ClassVar[str] = ""
    kind: ClassVar[str] = ""

    items: tuple[tuple[str, int, bytes], ...]  # file, line, JSON
    everywhere: bool = True  # all namespaces, not only one

    def __iter__(self) -> Iterator[Object]:
        for file, line, text in self.items:
            yield Object(_decode(text), file, line)

    def __len__(self) -> int:
        return len(self.items)

    @classmethod
    def of(cls, objects: Iterable[Mapping[str, Any]], file: str = "") -> Objects:
        """From objects in memory, such as those of a test."""
        named = file or f"{FOLDER}{cls.plural}.json"
        return cls(tuple((named, n, msgspec.json.encode(o)) for n, o in enumerate(objects, 2)))

    @classmethod
    def head(cls) -> bytes:
        """The first line of the file."""
        return b'{"apiVersion":"v1","kind":"' + cls.kind.encode() + b'List","items":['


class NodeObjects(Objects):
    plural, kind = "nodes", "Node"


class PodObjects(Objects):
    plural, kind = "pods", "Pod"


class DaemonSetObjects(Objects):
    plural, kind = "daemonsets", "DaemonSet"


class EventObjects(Objects):
    plural, kind = "events", "Event"


class CrdObjects(Objects):
    plural, kind = "customresourcedefinitions", "CustomResourceDefinition"


class StorageClassObjects(Objects):
    plural, kind = "storageclasses", "StorageClass"


class CsiDriverObjects(Objects):
    plural, kind = "csidrivers", "CSIDriver"


class CsiNodeObjects(Objects):
    plural, kind = "csinodes", "CSINode"


class ClaimObjects(Objects):
    plural, kind = "persistentvolumeclaims", "PersistentVolumeClaim"


class VolumeObjects(Objects):
    plural, kind = "persistentvolumes", "PersistentVolume"


class QuotaObjects(Objects):
    plural, kind = "resourcequotas", "ResourceQuota"


class LimitRangeObjects(Objects):
    plural, kind = "limitranges", "LimitRange"


class NetworkPolicyObjects(Objects):
    plural, kind = "networkpolicies", "NetworkPolicy"


class NamespaceObjects(Objects):
    plural, kind = "namespaces", "Namespace"


class ServiceObjects(Objects):
    plural, kind = "services", "Service"


class EndpointSliceObjects(Objects):
    plural, kind = "endpointslices", "EndpointSlice"


KINDS: dict[str, type[Objects]] = {
    kind.kind: kind
    for kind in (
        NodeObjects, PodObjects, DaemonSetObjects, EventObjects, CrdObjects, StorageClassObjects, CsiDriverObjects,
        CsiNodeObjects, ClaimObjects, VolumeObjects, QuotaObjects, LimitRangeObjects, NetworkPolicyObjects,
        NamespaceObjects, ServiceObjects, EndpointSliceObjects,
    )
}  # fmt: skip
"""Kind -> the document that holds all objects of it."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run on Kubernetes was asked to look at: the flags, kept so that it can be judged again."""

    plane: ClassVar[str] = "kubernetes"
    file: ClassVar[str] = f"{FOLDER}scope.json"

    context: str = ""
    namespace: str = "default"
    selector: str = ""  # -l
    nodes: int = 0  # --nodes; 0: as many as match
    no_gpu: bool = False
    image: str = ""
    template: Mapping[str, Any] | None = None  # --like: the pod template of the user's own job
    template_kind: str = ""  # and the kind that it came from
    added_labels: Mapping[str, str] = field(default_factory=dict)  # what that kind's controller adds to its pods
    services: tuple[Mapping[str, Any], ...] = ()  # of the same manifest
    job: str = ""  # kind/name, where only what is this job's was read


@dataclass(frozen=True, slots=True)
class ServerDocument:
    """What the API server says of itself: /version, and its address."""

    plane: ClassVar[str] = "kubernetes"
    file: ClassVar[str] = f"{FOLDER}version.json"

    git_version: str
    server: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """One question to RBAC and its answer."""

    verb: str
    group: str
    resource: str  # pods/log
    namespace: str  # "": all
    allowed: bool
    why: str  # what it is needed for
    level: str  # from this level on


@dataclass(frozen=True, slots=True)
class AccessDocument:
    """What this user may do, by SelfSubjectAccessReview."""

    plane: ClassVar[str] = "kubernetes"
    file: ClassVar[str] = f"{FOLDER}access.json"

    reviews: tuple[Review, ...]


@dataclass(frozen=True, slots=True)
class AdmissionDocument:
    """What the API server said to a pod like ours, asked with dryRun: nothing was made."""

    plane: ClassVar[str] = "kubernetes"
    file: ClassVar[str] = f"{FOLDER}admission.json"

    admitted: bool
    code: int = 0
    message: str = ""
    warnings: tuple[str, ...] = ()
    limits: Mapping[str, str] = field(default_factory=dict)  # of the first container, as webhooks left it


@dataclass(frozen=True, slots=True)
class PodStart:
    """How far one pod of the run came, and the scheduler's or kubelet's own words on why no further."""

    pod: str
    index: int
    node: str  # "" while it has none
    state: str  # running, unscheduled, waiting, ended, absent
    reason: str = ""  # Unschedulable, ErrImagePull, CrashLoopBackOff, OOMKilled, FailedCreate …
    message: str = ""
    seconds: float = 0.0  # from the start of the run to its running
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class PodsDocument:
    """The pods of the run, once all run or it is known why they don't."""

    plane: ClassVar[str] = "kubernetes"
    file: ClassVar[str] = f"{FOLDER}run-pods.json"

    pods: tuple[PodStart, ...]


@dataclass(frozen=True, slots=True)
class EndsDocument:
    """How each pod of the run stood when it was over."""

    plane: ClassVar[str] = "kubernetes"
    file: ClassVar[str] = f"{FOLDER}run-ends.json"

    pods: tuple[PodStart, ...]


@dataclass(frozen=True, slots=True)
class CleanupDocument:
    """What the run made, and what a query for its label found afterwards."""

    plane: ClassVar[str] = "kubernetes"
    file: ClassVar[str] = f"{FOLDER}cleanup.json"

    made: tuple[str, ...]  # kind/name
    left: tuple[str, ...]
    seconds: float
    error: str = ""
    why: Mapping[str, str] = field(default_factory=dict)  # of what is left: what it waits for, or ""


ANSWERS: tuple[type, ...] = (
    Scope, ServerDocument, AccessDocument, AdmissionDocument, PodsDocument, EndsDocument, CleanupDocument,
)  # fmt: skip
"""Documents that are no lists of objects."""

DOCUMENTS: tuple[type, ...] = (*KINDS.values(), *ANSWERS)
"""All documents of the Kubernetes plane."""


def answer(kind: type[A], data: bytes) -> A:
    """One of ANSWERS from its file. Raises ValueError."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise ValueError(f"not what {kind.__name__} is: {error}") from None


def answer_json(document: object) -> bytes:
    """One of ANSWERS as its file."""
    return msgspec.json.encode(document)
