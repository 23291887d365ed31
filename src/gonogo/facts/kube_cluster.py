"""What the cluster offers besides nodes: kinds, storage, quotas, policies, names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gonogo.documents.kubernetes import (
    ClaimObjects,
    CrdObjects,
    CsiDriverObjects,
    CsiNodeObjects,
    EndpointSliceObjects,
    EventObjects,
    LimitRangeObjects,
    NamespaceObjects,
    NetworkPolicyObjects,
    Object,
    QuotaObjects,
    Scope,
    ServiceObjects,
    StorageClassObjects,
    VolumeObjects,
)
from gonogo.facts.kube_quantity import quantities
from gonogo.kernel import parser
from gonogo.model import Evidence

DNS_SERVICE = "kube-dns"  # the Service's name in every distribution, whatever serves behind it


@dataclass(frozen=True, slots=True)
class Crd:
    """A kind that somebody installed, and the versions of it that the API serves."""

    plural: str
    group: str
    kind: str
    served: tuple[str, ...]
    established: bool
    labels: Mapping[str, str]
    file: str = ""
    line: int = 0

    def evidence(self, text: str) -> Evidence:
        return Evidence(text, self.file, self.line)


@dataclass(frozen=True, slots=True)
class Crds:
    """All installed kinds."""

    crds: tuple[Crd, ...]

    def of(self, group: str, kind: str) -> Crd | None:
        return next((c for c in self.crds if (c.group, c.kind) == (group, kind)), None)


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim of the run's namespace, and the volume that it got."""

    name: str
    phase: str
    storage_class: str
    modes: tuple[str, ...]
    driver: str  # CSI driver of its volume, "" while there is none
    zones: tuple[str, ...]  # where its volume can be used; () for anywhere
    hosts: tuple[str, ...]  # the nodes on which it can; () for any
    word: str  # the last event's message about it, or ""
    file: str = ""
    line: int = 0

    def evidence(self, text: str) -> Evidence:
        return Evidence(text, self.file, self.line)


@dataclass(frozen=True, slots=True)
class StorageClass:
    """How a volume would be made."""

    name: str
    provisioner: str
    waits_for_pod: bool
    default: bool
    zones: tuple[str, ...] = ()  # where it makes volumes; () for anywhere


@dataclass(frozen=True, slots=True)
class Volumes:
    """Claims, classes and drivers."""

    claims: Mapping[str, Claim]
    classes: Mapping[str, StorageClass]
    drivers: frozenset[str]
    on_node: Mapping[str, frozenset[str]]  # node -> the drivers that are registered there


@dataclass(frozen=True, slots=True)
class Quota:
    """A ResourceQuota of the run's namespace: its limits and what is used of them."""

    name: str
    hard: Mapping[str, float]
    used: Mapping[str, float]
    scoped: bool  # it counts only some pods
    file: str = ""
    line: int = 0

    def evidence(self, text: str) -> Evidence:
        return Evidence(text, self.file, self.line)


@dataclass(frozen=True, slots=True)
class Quotas:
    """All ResourceQuotas of the run's namespace."""

    quotas: tuple[Quota, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """One rule of a LimitRange."""

    name: str
    type: str  # Container, Pod, PersistentVolumeClaim
    least: Mapping[str, float]
    most: Mapping[str, float]
    default: Mapping[str, float]
    file: str = ""
    line: int = 0

    def evidence(self, text: str) -> Evidence:
        return Evidence(text, self.file, self.line)


@dataclass(frozen=True, slots=True)
class LimitRanges:
    """All LimitRanges of the run's namespace, rule by rule."""

    limits: tuple[Limit, ...]


@dataclass(frozen=True, slots=True)
class NetworkPolicies:
    """All NetworkPolicies of the run's namespace, as the API has them."""

    policies: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class Services:
    """All Services of the run's namespace, as the API has them."""

    services: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class Namespace:
    """The run's namespace."""

    name: str
    exists: bool
    labels: Mapping[str, str]
    file: str = ""
    line: int = 0

    @property
    def enforced(self) -> str:
        """The Pod Security level that it enforces by label: privileged, baseline, restricted, or ""."""
        return self.labels.get("pod-security.kubernetes.io/enforce", "")

    def evidence(self, text: str) -> Evidence:
        return Evidence(text, self.file, self.line)


@dataclass(frozen=True, slots=True)
class Dns:
    """Who answers for names: endpoints of the cluster's DNS service."""

    ready: int
    known: int
    slices: int  # 0: there is no such service
    file: str = ""
    line: int = 0


@parser
def crds(objects: CrdObjects) -> Crds:
    return Crds(tuple(_crd(item) for item in objects))


@parser
def storage(
    claims: ClaimObjects, volumes: VolumeObjects, classes: StorageClassObjects, drivers: CsiDriverObjects,
    nodes: CsiNodeObjects, scope: Scope, events: EventObjects,
) -> Volumes:  # fmt: skip
    by_volume = {item.name: item for item in volumes}
    words = _last_words(events, scope.namespace)
    own = [item for item in claims if item.namespace == scope.namespace]
    return Volumes(
        {item.name: _claim(item, by_volume, words.get(item.name, "")) for item in own},
        {item.name: _class(item) for item in classes},
        frozenset(item.name for item in drivers),
        {item.name: frozenset(str(d.get("name")) for d in item.each("spec", "drivers")) for item in nodes},
    )


@parser
def quotas(objects: QuotaObjects, scope: Scope) -> Quotas:
    return Quotas(
        tuple(
            Quota(
                item.name,
                quantities(item.mapping("status", "hard") or item.mapping("spec", "hard")),
                quantities(item.mapping("status", "used")),
                bool(item.at("spec", "scopes") or item.at("spec", "scopeSelector")),
                item.file,
                item.line,
            )
            for item in objects
            if item.namespace == scope.namespace
        )
    )


@parser
def limit_ranges(objects: LimitRangeObjects, scope: Scope) -> LimitRanges:
    def amounts(rule: Mapping[str, Any], key: str) -> dict[str, float]:
        return quantities(rule.get(key) or {})

    return LimitRanges(
        tuple(
            Limit(
                item.name, str(rule.get("type", "")), amounts(rule, "min"), amounts(rule, "max"),
                amounts(rule, "default"), item.file, item.line,
            )
            for item in objects
            if item.namespace == scope.namespace
            for rule in item.each("spec", "limits")
        )
    )  # fmt: skip


@parser
def network_policies(objects: NetworkPolicyObjects, scope: Scope) -> NetworkPolicies:
    return NetworkPolicies(tuple(item for item in objects if item.namespace == scope.namespace))


@parser
def services(objects: ServiceObjects, scope: Scope) -> Services:
    return Services(tuple(item for item in objects if item.namespace == scope.namespace))


@parser
def namespace(objects: NamespaceObjects, scope: Scope) -> Namespace:
    found = next((item for item in objects if item.name == scope.namespace), None)
    if not found:
        return Namespace(scope.namespace, False, {})
    return Namespace(found.name, True, found.labels, found.file, found.line)


@parser
def dns(objects: EndpointSliceObjects) -> Dns:
    slices = [
        item
        for item in objects
        if item.namespace == "kube-system" and item.labels.get("kubernetes.io/service-name") == DNS_SERVICE
    ]
    endpoints = [e for item in slices for e in item.each("endpoints")]
    ready = [e for e in endpoints if (e.get("conditions") or {}).get("ready", True)]
    at = slices[0] if slices else Object({})
    return Dns(len(ready), len(endpoints), len(slices), at.file, at.line)


def _crd(item: Object) -> Crd:
    conditions = {c.get("type"): c.get("status") for c in item.each("status", "conditions")}
    return Crd(
        plural=str(item.at("spec", "names", "plural", default="")),
        group=str(item.at("spec", "group", default="")),
        kind=str(item.at("spec", "names", "kind", default="")),
        served=tuple(str(v.get("name")) for v in item.each("spec", "versions") if v.get("served")),
        established=conditions.get("Established", "True") == "True",
        labels=item.labels,
        file=item.file,
        line=item.line,
    )


def _claim(item: Object, volumes: Mapping[str, Object], word: str) -> Claim:
    volume = volumes.get(str(item.at("spec", "volumeName", default="")), Object({}))
    terms = list(volume.each("spec", "nodeAffinity", "required", "nodeSelectorTerms"))
    return Claim(
        name=item.name,
        phase=str(item.at("status", "phase", default="")),
        storage_class=str(item.at("spec", "storageClassName", default="")),
        modes=tuple(item.at("spec", "accessModes", default=[])),
        driver=str(volume.at("spec", "csi", "driver", default="")),
        zones=_values(terms, "matchExpressions", "/zone"),
        hosts=_values(terms, "matchExpressions", "kubernetes.io/hostname"),
        word=word,
        file=item.file,
        line=item.line,
    )


def _class(item: Object) -> StorageClass:
    notes = item.mapping("metadata", "annotations")
    return StorageClass(
        item.name,
        str(item.at("provisioner", default="")),
        item.at("volumeBindingMode") == "WaitForFirstConsumer",
        notes.get("storageclass.kubernetes.io/is-default-class") == "true",
        _values(item.each("allowedTopologies"), "matchLabelExpressions", "/zone"),
    )


def _values(terms: Iterable[Mapping[str, Any]], expressions: str, key: str) -> tuple[str, ...]:
    """What any of the terms allows for the label whose name ends so."""
    found = [
        str(value)
        for term in terms
        for e in term.get(expressions) or []
        if str(e.get("key", "")).endswith(key) and e.get("operator", "In") == "In"
        for value in e.get("values") or []
    ]
    return tuple(dict.fromkeys(found))


def _last_words(events: EventObjects, namespace: str) -> dict[str, str]:
    """Claim -> the message of the newest event about it."""
    found: dict[str, tuple[str, str]] = {}
    for item in events:
        about = item.mapping("involvedObject")
        if about.get("kind") == "PersistentVolumeClaim" and about.get("namespace") == namespace:
            at = str(item.at("lastTimestamp") or item.at("eventTime") or "")
            name = str(about.get("name"))
            if at >= found.get(name, ("", ""))[0]:
                found[name] = (at, str(item.at("message", default="")))
    return {name: message for name, (_, message) in found.items()}
