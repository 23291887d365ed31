"""Who reaches whom: names, listeners and probes of every ordered pair of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gonogo.documents.records import PortsLog, Record
from gonogo.facts.fields import by_node, number, or_lost, silence, text, texts, whole
from gonogo.kernel import Lost, PerNode, parser
from gonogo.model import Evidence, Subject, node

CONNECTED = "connected"
BLOCKED = ("silent", "refused", "reset", "unreachable")
"""Outcomes of a firewall or a missing listener, as opposed to names, processes and limits."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One attempt of `source` to connect to `target` on a port; target is the node whose name was dialled."""

    source: str
    target: str
    address: str
    port: int
    role: str  # rendezvous, agent or probe
    outcome: str
    errno: int | None
    seconds: float | None
    answered_by: str
    seen_as: str  # the source's address as the target saw it
    record: Record

    @property
    def connected(self) -> bool:
        """Whether the dialled node answered and said who it is."""
        return self.outcome == CONNECTED

    @property
    def seen_from(self) -> str:
        """The source's address as the target saw it, without the port that an agent may add: 10.0.0.1:4711."""
        host, colon, port = self.seen_as.rpartition(":")
        return host.strip("[]") if colon and port.isdigit() and "." in host else self.seen_as

    @property
    def said(self) -> str:
        """What happened, to follow `node1 -> node0 port 29500: `."""
        took = "" if self.seconds is None else f" after {spell_seconds(self.seconds)}"
        error = f" (errno {self.errno})" if self.errno else ""
        within = "" if self.seconds is None else f" within {spell_seconds(self.seconds)}"
        return {
            "connected": f"connected{took}",
            "refused": f"refused{took}{error}",
            "reset": f"reset{took}{error}",
            "unreachable": f"unreachable{took}{error}",
            "silent": f"no answer{within}",
            "mute": f"accepted, then nothing said{within}",
            "stranger": f"{self.answered_by or 'something else'} answered",
            "name_unknown": "not tried, the name does not resolve",
            "exhausted": f"no local port or descriptor left{error}",
        }.get(self.outcome, f"unknown outcome {self.outcome!r}")

    @property
    def evidence(self) -> Evidence:
        """Its record."""
        return self.record.evidence(f"{self.source} -> {self.target} port {self.port}: {self.said}")


def spell_seconds(seconds: float) -> str:
    """0.0002 -> 0.2 ms, 3.002 -> 3.0 s."""
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


@dataclass(frozen=True, slots=True)
class Resolution:
    """What `source` got when it asked for `peer`'s name."""

    source: str
    peer: str
    name: str
    addresses: tuple[str, ...]
    error: str
    record: Record


@dataclass(frozen=True, slots=True)
class Listener:
    """Whether a node could listen on a port."""

    port: int
    role: str
    ok: bool
    error: str
    record: Record


@dataclass(frozen=True, slots=True)
class NodePorts:
    """What one node tried."""

    listeners: tuple[Listener, ...] = ()
    resolutions: tuple[Resolution, ...] = ()
    probes: tuple[Probe, ...] = ()
    itself: tuple[Probe, ...] = field(default=())  # probes of its own address


class Ports(PerNode[NodePorts]):
    """Expected node -> what it tried; a node whose agent said nothing of its ports is lost."""

    def __init__(
        self, entries: Mapping[Subject, NodePorts | Lost], ended: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init__(entries)
        self.ended = ended  # how agents stood when the step was over

    @property
    def names(self) -> tuple[str, ...]:
        """All expected nodes, in index order."""
        return tuple(subject.name for subject in self)

    def wanted(self, *roles: str) -> tuple[int, ...]:
        """The ports of these roles that anybody listened on or tried."""
        listened = {x.port for n in self.present.values() for x in n.listeners if x.role in roles}
        return tuple(sorted(listened | {x.port for n in self.present.values() for x in n.probes if x.role in roles}))

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Every ordered pair whose first node told what it tried."""
        return ((s.name, target) for s in self.present for target in self.names if target != s.name)

    def probes(self, source: str, target: str, *roles: str) -> tuple[Probe, ...]:
        """What one node tried of another, by port, of these roles or of all."""
        tried = self.present.get(node(source), NodePorts()).probes
        found = [p for p in tried if p.target == target and (not roles or p.role in roles)]
        return tuple(sorted(found, key=lambda p: p.port))

    def listens(self, name: str, port: int) -> bool:
        """Whether a node is known to listen on a port: its agent said so, and still lived at the step's end."""
        told = self.present.get(node(name), NodePorts())
        return not self.ended.get(name) and any(x.ok for x in told.listeners if x.port == port)


def probe_of(source: str, record: Record) -> Probe | None:
    """A probe record, or None where it doesn't say whom and what it tried."""
    peer, port, outcome = text(record, "peer"), whole(record, "port"), text(record, "outcome")
    if not peer or port is None or not outcome:
        return None
    return Probe(
        source=source,
        target=peer,
        address=text(record, "address"),
        port=port,
        role=text(record, "role"),
        outcome=outcome,
        errno=whole(record, "errno"),
        seconds=number(record, "seconds"),
        answered_by=text(record, "answered_by"),
        seen_as=text(record, "seen_as"),
        record=record,
    )


def _listener(record: Record) -> Listener | None:
    port = whole(record, "port")
    if port is None:
        return None
    return Listener(port, text(record, "role"), record.get("ok") is True, text(record, "error"), record)


def _resolution(source: str, record: Record) -> Resolution:
    addresses = texts(record, "addresses")
    return Resolution(source, text(record, "peer"), text(record, "name"), addresses, text(record, "error"), record)


@parser
def ports(log: PortsLog) -> Ports:
    """What every node tried before any coordination; probes made after a failure are not among them."""
    got: dict[Subject, NodePorts] = {}
    for name, told in by_node(log, "ports", "listen", "resolve", "probe").items():
        probes = [probe_of(name, r) for r in told if r.get("kind") == "probe" and not r.get("after")]
        if not told:
            continue
        got[node(name)] = NodePorts(
            listeners=tuple(x for r in told if r.get("kind") == "listen" and (x := _listener(r))),
            resolutions=tuple(_resolution(name, r) for r in told if r.get("kind") == "resolve" and text(r, "peer")),
            probes=tuple(p for p in probes if p and p.target != name),
            itself=tuple(p for p in probes if p and p.target == name),
        )
    wanted = {node(name): silence(log, name, f"{name}'s agent told of no port.") for name in log.nodes}
    return Ports(or_lost(got, wanted), log.ended)
