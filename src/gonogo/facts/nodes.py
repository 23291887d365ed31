"""What each node is: interfaces, resources, versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gonogo.documents.records import NodeLog, Record
from gonogo.facts.fields import by_node, items, mapping, number, or_lost, silence, text, texts, whole, wholes
from gonogo.kernel import PerNode, parser
from gonogo.model import Subject, node


@dataclass(frozen=True, slots=True)
class Interface:
    """One address of one interface; mtu in bytes."""

    name: str
    address: str
    mtu: int | None
    up: bool
    mac: str = ""


@dataclass(frozen=True, slots=True)
class Quota:
    """How much there may be of something and how much there is; limit None: none, used None: not told."""

    limit: int | None
    used: int | None
    is_told: bool = True  # whether the agent could tell the limit

    @property
    def free(self) -> int | None:
        """What is left; None where nothing limits it."""
        return None if self.limit is None else max(0, self.limit - (self.used or 0))


@dataclass(frozen=True, slots=True)
class Room:
    """What a node's kernel still has for a job."""

    open_files: Quota  # soft limit, and those of the agent
    locked_bytes: Quota  # soft limit
    processes: Quota  # of the control group and of the user, whichever is nearer
    local_ports: Quota  # the range for outgoing connections, and TCP sockets in use
    tracked: Quota  # connections that the firewall keeps in mind
    memory_bytes: Quota  # of the control group
    memory_available_bytes: int | None  # of the machine
    oom_kills: int | None  # in the control group, before the run


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """One node as its agent saw it; sizes in bytes, None where the agent could not tell."""

    name: str
    hostname: str
    own_addresses: tuple[str, ...]  # what its own host name resolves to
    own_name_error: str
    interfaces: tuple[Interface, ...]
    cpus: int | None
    cpu_quota: float | None  # CPUs that the control group may use; None: no limit
    memory_bytes: int | None
    memory_limit_bytes: int | None  # None: no limit
    shm_bytes: int | None
    shm_free_bytes: int | None
    room: Room
    local_addresses: frozenset[str]  # all that its kernel takes for its own
    versions: Mapping[str, str]
    environment: Mapping[str, str]
    record: Record

    def interface(self, name: str) -> Interface | None:
        """The interface of that name, the one with an IPv4 address first."""
        named = [i for i in self.interfaces if i.name == name]
        return next((i for i in named if "." in i.address), named[0] if named else None)

    @property
    def usable_cpus(self) -> float | None:
        """CPUs, or as many of them as the control group may use."""
        return min(self.cpus, self.cpu_quota or self.cpus) if self.cpus else None

    @property
    def addresses(self) -> frozenset[str]:
        """All its own addresses but the loopback ones that every node has."""
        return frozenset(i.address for i in self.interfaces if i.address not in ("127.0.0.1", "::1", ""))


class Nodes(PerNode[NodeInfo]):
    """Expected node -> what it is."""


def _interface(entry: object) -> Interface | None:
    if not isinstance(entry, dict):
        return None
    address = text(entry, "address").partition("/")[0]
    up = entry.get("up") is not False
    return Interface(text(entry, "name"), address, whole(entry, "mtu"), up, text(entry, "mac"))


def _strings(values: Mapping[str, object]) -> dict[str, str]:
    return {key: str(value) for key, value in values.items() if isinstance(value, str | int | float)}


def _limit(record: Record, name: str) -> Quota:
    """A soft limit of the process."""
    soft, _ = wholes(mapping(record, "limits"), name, 2, least=-1) or (None, None)
    return Quota(soft if soft is not None and soft >= 0 else None, None, soft is not None)


def _room(record: Record) -> Room:
    files, users = _limit(record, "nofile"), _limit(record, "nproc")
    group, tracked = wholes(record, "processes", 2), wholes(record, "conntrack", 2)
    used, most = group or (None, None)
    if not most and whole(record, "uid") != 0:  # the user's own limit does not hold for root
        most, used = users.limit, used if users.limit else None
    low, high = wholes(record, "port_range", 2) or (None, None)
    ports = None if low is None or high is None else max(0, high - low + 1)
    count, limit = tracked or (None, None)
    return Room(
        open_files=Quota(files.limit, whole(record, "open_files"), files.is_told),
        locked_bytes=_limit(record, "memlock"),
        processes=Quota(most or None, used, group is not None),
        local_ports=Quota(ports, whole(record, "tcp_sockets"), ports is not None),
        tracked=Quota(limit, count, tracked is not None),
        memory_bytes=Quota(whole(record, "memory_limit_bytes") or None, whole(record, "memory_used_bytes")),
        memory_available_bytes=whole(record, "memory_available_bytes"),
        oom_kills=whole(record, "oom_kills"),
    )


def _info(name: str, record: Record) -> NodeInfo:
    limit = whole(record, "memory_limit_bytes")
    interfaces = (_interface(entry) for entry in items(record, "interfaces"))
    return NodeInfo(
        name=name,
        hostname=text(record, "hostname"),
        own_addresses=texts(record, "own_addresses"),
        own_name_error=text(record, "own_name_error"),
        interfaces=tuple(i for i in interfaces if i),
        cpus=whole(record, "cpus"),
        cpu_quota=number(record, "cpu_quota") or None,
        memory_bytes=whole(record, "memory_bytes"),
        memory_limit_bytes=limit or None,
        shm_bytes=whole(record, "shm_bytes"),
        shm_free_bytes=whole(record, "shm_free_bytes"),
        room=_room(record),
        local_addresses=frozenset(texts(record, "local_addresses")),
        versions=_strings(mapping(record, "versions")),
        environment=_strings(mapping(record, "environment")),
        record=record,
    )


@parser
def nodes(log: NodeLog) -> Nodes:
    """The last word of each agent on its node."""
    found = by_node(log, "node", "info")
    got: dict[Subject, NodeInfo] = {node(name): _info(name, told[-1]) for name, told in found.items() if told}
    wanted = {node(name): silence(log, name, f"{name}'s agent said nothing of its node.") for name in log.nodes}
    return Nodes(or_lost(got, wanted))
