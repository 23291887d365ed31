"""What each node could do with each path of shared storage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gonogo.documents.records import Record, StorageLog
from gonogo.facts.fields import mapping, number, text, texts, whole
from gonogo.facts.groups import group_of, ranks_of
from gonogo.facts.ranks import Rank
from gonogo.kernel import Lost, PerNode, parser
from gonogo.model import Evidence, Status, Subject

REMOTE = ("nfs", "lustre", "fuse", "ceph", "cifs", "smb", "9p", "beegfs", "gpfs", "wekafs", "virtiofs")
"""What the types of file systems begin with that several machines can share."""
MISSING = ("ENOENT", "ENOTDIR")
"""How the kernel says that nothing is at a path."""


@dataclass(frozen=True, slots=True)
class Space:
    """What holds a path, and what is left there; inodes_total 0: no fixed number."""

    bytes_total: int | None
    bytes_free: int | None
    inodes_total: int | None
    inodes_free: int | None
    read_only: bool
    type: str
    source: str
    mount: str
    device: int | None
    record: Record

    @property
    def is_remote(self) -> bool:
        """Whether it is of a type that several machines can share."""
        return self.type.startswith(REMOTE)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An operation that the kernel refused; errno by its name."""

    op: str
    errno: str
    text: str
    record: Record

    @property
    def evidence(self) -> Evidence:
        """Its record."""
        return self.record.evidence(
            f"{self.record.node}: {self.op} failed with {self.errno or 'an error'}: {self.text}"
        )


@dataclass(frozen=True, slots=True)
class PathProbe:
    """One path on one node; the last record of each kind, None where it did not come to that."""

    node: str
    path: str
    space: Space | None
    refusals: tuple[Refusal, ...]
    told: Mapping[str, Record]  # write, read, small, visible, replaced, checkpoint, unsupported, removed
    locks: tuple[Record, ...]

    def refused(self, *ops: str) -> Refusal | None:
        """The first of these operations that was refused; none given: any."""
        return next((r for r in self.refusals if not ops or r.op in ops), None)

    @property
    def is_missing(self) -> bool:
        """Whether nothing is there: the very first look was refused. Else something is, such as a file."""
        return any(r.op == "space" and r.errno in MISSING for r in self.refusals)

    def rate(self, kind: str) -> float | None:
        """Bytes per second of `write` (until they are durable) or `read`."""
        record = self.told.get(kind)
        size, seconds = (whole(record, "bytes"), number(record, "seconds")) if record else (None, None)
        return size / seconds if size and seconds else None

    @property
    def unseen(self) -> tuple[str, ...]:
        """Nodes whose files did not appear here."""
        record = self.told.get("visible")
        return texts(record, "unseen") if record else ()

    @property
    def wrong_blocks(self) -> Mapping[str, object]:
        """Nodes whose large files are here and are not as they were written, and in how many blocks."""
        record = self.told.get("visible")
        return mapping(record, "wrong_blocks") if record else {}


@dataclass(frozen=True, slots=True)
class StorageRank:
    """One node's process of the step, and its paths in the plan's order."""

    rank: Rank
    paths: tuple[PathProbe, ...]

    @property
    def why_not(self) -> str:
        """Why there is nothing to judge; "" if there is."""
        if self.paths:
            return ""
        if self.rank.failure:
            return f"its rank failed in {self.rank.failure.where}: {self.rank.failure.reason}"
        return f"its rank {self.rank.exit.said}" if self.rank.exit else "its rank told nothing"

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The record of what went wrong with its rank, if something did."""
        if self.rank.failure:
            return (self.rank.failure.evidence,)
        return (self.rank.exit.evidence(self.rank.name),) if self.rank.exit and not self.rank.finished else ()


class StorageRanks(PerNode[StorageRank]):
    """Expected node -> what it found; lost where it had no process in the step."""


@dataclass(frozen=True, slots=True)
class Storage:
    """The step as a whole; STO001 speaks of the lost nodes, so that other checks need not repeat it."""

    ranks: StorageRanks

    @property
    def present(self) -> dict[Subject, StorageRank]:
        """The nodes that had a process."""
        return self.ranks.present

    def __len__(self) -> int:
        """How many nodes were expected."""
        return len(self.ranks)

    def paths(self) -> Iterator[PathProbe]:
        """Every path on every node."""
        return (p for entry in self.present.values() for p in entry.paths)

    def named(self) -> tuple[str, ...]:
        """All paths that any node probed, in order."""
        return tuple(dict.fromkeys(p.path for p in self.paths()))

    def on(self, path: str) -> dict[str, PathProbe]:
        """Node -> its probe of one path."""
        return {p.node: p for p in self.paths() if p.path == path}


_KINDS = ("space", "failed", "write", "read", "small", "visible", "replaced", "lock", "checkpoint", "unsupported",
          "removed")  # fmt: skip


def _space(record: Record) -> Space:
    return Space(
        whole(record, "bytes_total"),
        whole(record, "bytes_free"),
        whole(record, "inodes_total"),
        whole(record, "inodes_free"),
        record.get("read_only") is True,
        text(record, "type"),
        text(record, "source"),
        text(record, "mount"),
        whole(record, "device"),
        record,
    )


def _probe(name: str, path: str, told: list[Record]) -> PathProbe:
    last = {r.kind: r for r in told if r.kind not in ("failed", "lock")}
    space = last.pop("space", None)
    refusals = (Refusal(text(r, "op"), text(r, "errno"), text(r, "text"), r) for r in told if r.kind == "failed")
    locks = tuple(r for r in told if r.kind == "lock")
    return PathProbe(name, path, _space(space) if space else None, tuple(refusals), last, locks)


@parser
def storage(log: StorageLog) -> Storage | Lost:
    """Every node's process and every path that it came to; a skip where ranks ended well and there was no path."""
    told: dict[str, dict[str, list[Record]]] = {name: {} for name in log.nodes}
    for record in log.of(*_KINDS):
        if record.get("step") == "storage" and record.node in told and text(record, "path"):
            told[record.node].setdefault(text(record, "path"), []).append(record)

    def made(rank: Rank, _: list[Record]) -> StorageRank:
        return StorageRank(rank, tuple(_probe(rank.name, path, mine) for path, mine in told[rank.name].items()))

    found = Storage(StorageRanks(ranks_of(log, "storage", group_of(log, "storage"), made)))
    if not any(told.values()) and any(entry.rank.finished for entry in found.present.values()):
        return Lost("No path of storage is given (plan: storage).", Status.SKIP)
    return found


@parser
def storage_ranks(storage: Storage) -> StorageRanks:
    """The same by node, the lost ones among them."""
    return storage.ranks
