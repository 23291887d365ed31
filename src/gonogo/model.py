"""The nouns that leave the kernel: statuses, subjects, findings, figures, diagnoses, the report.

Everything here is immutable and knows nothing of clusters, clients or terminals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

AREAS = (
    "iam", "network", "cni", "capacity", "quota", "eks", "kubernetes", "node",
    "runtime", "limits", "hardware", "gpu", "efa", "nccl", "gloo", "software",
    "image", "pod", "scheduling", "storage", "job", "link", "collective", "train",
    "horovod", "mpi",
)  # fmt: skip
"""The one vocabulary of areas, for checks, causes and `--only`."""

PREFIXES = {
    "IAM": "iam", "NET": "network", "CNI": "cni", "CAP": "capacity", "QUO": "quota", "EKS": "eks",
    "KUB": "kubernetes", "NOD": "node", "RUN": "runtime", "LIM": "limits", "HRD": "hardware", "GPU": "gpu",
    "EFA": "efa", "NCL": "nccl", "GLO": "gloo", "SFT": "software", "IMG": "image", "POD": "pod",
    "SCH": "scheduling", "STO": "storage", "JOB": "job", "LNK": "link", "COL": "collective", "TRN": "train",
    "HVD": "horovod", "MPI": "mpi",
}  # fmt: skip
"""What the ids of checks begin with, and the area that it stands for."""
assert set(PREFIXES.values()) == set(AREAS)

Level = Literal["read", "quick", "standard", "deep"]
LEVELS: tuple[Level, ...] = ("read", "quick", "standard", "deep")

SubjectKind = Literal["cluster", "node", "gpu", "link", "rank", "pod", "aws", "object", "file"]
Value = str | int | float | bool | None


class Status(StrEnum):
    """What a finding says. Only `ok` and `skip` are harmless; `unknown` is never green."""

    OK = "ok"
    SKIP = "skip"
    WARN = "warn"
    UNKNOWN = "unknown"
    FAIL = "fail"

    @property
    def severity(self) -> int:
        """Rank among statuses, greater is worse: skip and ok, warn, unknown, fail."""
        return list(Status).index(self)


class Verdict(StrEnum):
    """What a report says: the first three for `verify`, the last three for `diagnose`."""

    GO = "GO"
    NO_GO = "NO-GO"
    UNDECIDED = "UNDECIDED"
    FAULT = "fault"
    DIAGNOSE_UNDECIDED = "undecided"
    NOTHING_FOUND = "nothing-found"

    @classmethod
    def of(cls, statuses: Iterable[Status]) -> Verdict:
        """GO needs at least one ok: a run that looked at nothing is undecided."""
        seen = set(statuses)
        if Status.FAIL in seen:
            return cls.NO_GO
        if Status.UNKNOWN in seen or not seen & {Status.OK, Status.WARN}:
            return cls.UNDECIDED
        return cls.GO


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """Who a finding is about. A link has a direction: `link/node0->node1`, from `name` to `to`."""

    kind: SubjectKind
    name: str = ""
    to: str = ""

    def __str__(self) -> str:
        if self.kind == "cluster":
            return "cluster"
        return f"{self.kind}/{self.name}->{self.to}" if self.to else f"{self.kind}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> Subject:
        """The inverse of str()."""
        kind, _, rest = text.partition("/")
        name, _, to = rest.partition("->")
        return cls(kind, name, to)  # type: ignore[arg-type]


CLUSTER = Subject("cluster")


def node(name: str) -> Subject:
    """The node of that name."""
    return Subject("node", name)


def link(source: str, target: str) -> Subject:
    """The link from one node to another, in that direction."""
    return Subject("link", source, target)


def rank(number: int) -> Subject:
    """The process of that rank."""
    return Subject("rank", str(number))


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something a reader can check: a line of a document, or a value of a fact."""

    text: str
    file: str = ""  # path inside the bundle
    line: int = 0  # counted from 1; 0: the whole file


@dataclass(frozen=True, slots=True)
class Finding:
    """One status about one subject, measured against what was expected."""

    status: Status
    subject: Subject
    message: str
    measured: Value = None
    expected: Value = None
    unit: str = ""
    threshold_source: str = ""  # where the expectation came from: plan, baseline, physics, peers …
    evidence: tuple[Evidence, ...] = ()
    check: str = ""  # set by the kernel
    traceback: str = ""  # of a check or collector that crashed; kept in the bundle, not in reports

    @property
    def key(self) -> FindingKey:
        """What a diagnosis names when it explains this finding."""
        return FindingKey(self.check, self.subject)


@dataclass(frozen=True, slots=True, order=True)
class FindingKey:
    """A finding by check and subject."""

    check: str
    subject: Subject

    def __str__(self) -> str:
        return f"{self.check} {self.subject}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number with its unit and coordinates, such as op, bytes and ranks."""

    name: str
    value: float
    unit: str
    subject: Subject = CLUSTER
    at: Mapping[str, Value] = field(default_factory=dict)
    check: str = ""  # set by the kernel


class Certainty(StrEnum):
    """How sure a diagnosis is."""

    ESTABLISHED = "established"
    SUPPORTED = "supported"
    HYPOTHESIS = "hypothesis"


class Repair(StrEnum):
    """What kind of act mends it: a closed list that a machine can act on."""

    CHANGE_NETWORK_RULE = "change-network-rule"
    CHANGE_NETWORK_CONFIG = "change-network-config"
    CHANGE_JOB = "change-job"
    CHANGE_CODE = "change-code"
    CHANGE_IMAGE = "change-image"
    CHANGE_PERMISSION = "change-permission"
    CHANGE_CLUSTER = "change-cluster"
    CHANGE_STORAGE = "change-storage"
    REQUEST_QUOTA = "request-quota"
    ADD_CAPACITY = "add-capacity"
    INSTALL_COMPONENT = "install-component"
    RESTART_PROCESS = "restart-process"
    REBOOT_NODE = "reboot-node"
    REPLACE_NODE = "replace-node"
    INSPECT = "inspect"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A root cause, what it explains, what speaks against it, and what to run."""

    cause: str
    certainty: Certainty
    summary: str
    subjects: tuple[Subject, ...]
    evidence: tuple[Evidence, ...]
    explains: tuple[FindingKey, ...] = ()
    contradicts: tuple[Evidence, ...] = ()
    repair: Repair = Repair.INSPECT
    commands: tuple[str, ...] = ()
    next_observation: str = ""
    consequences: tuple[Diagnosis, ...] = ()  # diagnoses that this one explains, folded under it


Flags = tuple[tuple[str, str], ...]
"""A command line's flags as typed, each with its value or "": those that choose target, plan, level and checks."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Which run this was. Times are seconds since 1970, UTC."""

    id: str
    version: str
    level: Level
    started: float
    ended: float
    bound_seconds: float  # the upper bound stated before the start
    interrupted: bool = False
    agent_sha256: str = ""
    flags: Flags | None = None  # None: of a run that did not keep them
    timed_out: bool = False  # by --timeout, before it was through
    uncut_seconds: float = 0.0  # the upper bound without --timeout
    bound_dollars: float = 0.0  # what the nodes cost for so long, by list price; 0: nothing, or not known


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """What was looked at, in words, and what that can never prove."""

    kind: Literal["local", "kubernetes", "files"]
    name: str
    summary: str
    cannot_prove: tuple[str, ...] = ()
    untouched: tuple[str, ...] = ()  # what was found and left alone, such as `kube context prod`
    untried: tuple[str, ...] = ()  # what the job does and the run did not, such as `8 ranks a node: …`


@dataclass(frozen=True, slots=True)
class Claim:
    """One line of what is proven or not: `4 of 4 nodes`, or what was not looked at and why."""

    text: str
    reason: str = ""
    checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the verdict rests on."""

    proven: tuple[Claim, ...] = ()
    not_proven: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a step took, in seconds."""

    step: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """The whole result of a run; every renderer takes one and returns text."""

    verdict: Verdict
    run: RunInfo
    target: TargetInfo
    plan: Mapping[str, object]
    coverage: Coverage
    findings: tuple[Finding, ...]
    diagnoses: tuple[Diagnosis, ...]
    figures: tuple[Figure, ...]
    timings: tuple[Timing, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)  # check or cause id -> title
