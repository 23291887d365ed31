"""What the links between nodes carried: messages, latency, throughput."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gonogo.documents.records import LinksLog, Record
from gonogo.facts.fields import items, number, records, silence, text, whole
from gonogo.kernel import Lost, PerNode, parser
from gonogo.model import Evidence, Status, Subject, link, node


@dataclass(frozen=True, slots=True)
class Message:
    """One message from `source` to `target`, acknowledged by the target if ok."""

    source: str
    target: str
    size_bytes: int
    ok: bool
    seconds: float | None
    mss: int | None
    pmtu: int | None
    retransmits: int | None
    error: str
    record: Record

    @property
    def evidence(self) -> Evidence:
        """Its record."""
        end = "acknowledged" if self.ok else f"not acknowledged ({self.error or 'no reason told'})"
        sizes = f", MSS {self.mss}, path MTU {self.pmtu}" if self.mss and self.pmtu else ""
        sent = f", {self.retransmits} retransmits" if self.retransmits is not None else ""
        return self.record.evidence(f"{self.source} -> {self.target}: {self.size_bytes} bytes {end}{sizes}{sent}")


@dataclass(frozen=True, slots=True)
class Latency:
    """Round trips of small messages between two nodes."""

    samples: int
    p50_seconds: float
    p99_seconds: float
    record: Record


@dataclass(frozen=True, slots=True)
class Throughput:
    """What `target` received of `source` in one slot of one round."""

    source: str
    target: str
    gbps: float
    slices_gbps: tuple[float, ...]
    waits: tuple[float, ...]
    round: int
    phase: int
    retransmits: int | None
    record: Record


@dataclass(frozen=True, slots=True)
class LinkError:
    """Why a planned pair could not be measured."""

    outcome: str
    error: str
    record: Record


Measure = Message | Latency | Throughput | LinkError


@dataclass(frozen=True, slots=True)
class LinkRun:
    """All that was measured in one direction of one pair."""

    messages: tuple[Message, ...] = ()
    latency: Latency | None = None
    throughputs: tuple[Throughput, ...] = ()
    errors: tuple[LinkError, ...] = ()

    @classmethod
    def of(cls, told: Iterable[Measure]) -> LinkRun:
        """The same, from what was told in any order."""
        told = tuple(told)
        return cls(
            tuple(m for m in told if isinstance(m, Message)),
            next((m for m in told if isinstance(m, Latency)), None),
            tuple(m for m in told if isinstance(m, Throughput)),
            tuple(m for m in told if isinstance(m, LinkError)),
        )


class Links(PerNode[LinkRun]):
    """Link with direction -> what was measured; lost where it was planned and nothing came.

    Links outside the plan of this level are no entries: coverage says how many of all there were.
    """

    def __init__(self, entries: Mapping[Subject, LinkRun | Lost], names: tuple[str, ...], plan: Record | None) -> None:
        super().__init__(entries)
        self.names = names
        self.plan = plan

    @property
    def possible(self) -> int:
        """How many directed links the nodes have."""
        return len(self.names) * (len(self.names) - 1)

    @property
    def first_look(self) -> dict[Subject, LinkRun]:
        """The links of the rounds; those that suspects were paired on later were measured for throughput alone."""
        return {
            s: run
            for s, run in self.present.items()
            if run.messages or run.errors or run.latency or any(t.phase == 1 for t in run.throughputs)
        }

    def throughputs(self) -> list[Throughput]:
        """All of them."""
        return [t for run in self.present.values() for t in run.throughputs]


def _message(source: str, record: Record) -> Message | None:
    size = whole(record, "bytes")
    if size is None:
        return None
    return Message(
        source,
        text(record, "peer"),
        size,
        record.get("ok") is True,
        number(record, "seconds"),
        whole(record, "mss"),
        whole(record, "pmtu"),
        whole(record, "retransmits"),
        text(record, "error"),
        record,
    )


def _latency(record: Record) -> Latency | None:
    p50, p99 = number(record, "p50_seconds"), number(record, "p99_seconds")
    return None if p50 is None or p99 is None else Latency(whole(record, "samples") or 0, p50, p99, record)


def _throughput(target: str, record: Record) -> Throughput | None:
    gbps = number(record, "gbps")
    if gbps is None:
        return None
    slices, waits = (
        tuple(float(s) for s in items(record, name) if isinstance(s, int | float)) for name in ("slices", "waits")
    )
    at = whole(record, "round") or 0, whole(record, "phase") or 1
    return Throughput(text(record, "peer"), target, gbps, slices, waits, *at, whole(record, "retransmits"), record)


def _measure(record: Record) -> tuple[Subject, Measure] | None:
    """What a record measured, of which link: throughput is told by the receiver, all else by the sender."""
    me, peer = text(record, "node"), text(record, "peer")
    measure: Measure | None = None
    match record.kind:
        case "message":
            measure = _message(me, record)
        case "throughput":
            measure = _throughput(me, record)
        case "latency":
            measure = _latency(record)
        case "error":
            measure = LinkError(text(record, "outcome"), text(record, "error"), record)
    subject = link(peer, me) if record.kind == "throughput" else link(me, peer)
    return (subject, measure) if measure else None


def planned(plan: Record | None) -> set[Subject]:
    """Both directions of every pair that the coordinator planned; pairs come as lists of two names."""
    found: set[Subject] = set()
    stack = list(items(plan, "pairs") if plan else ())
    while stack:
        entry = stack.pop()
        if isinstance(entry, list) and len(entry) == 2 and all(isinstance(name, str) for name in entry):
            found |= {link(entry[0], entry[1]), link(entry[1], entry[0])}
        elif isinstance(entry, list):  # pairs by round
            stack.extend(entry)
    return found


@parser
def links(log: LinksLog) -> Links | Lost:
    """All that both ends told of every link; a node of which no link was measured is lost as a node."""
    if len(log.nodes) < 2:
        return Lost("One node alone has no links.", Status.SKIP)
    told: dict[Subject, list[Measure]] = {}
    for record in records(log, "links", "message", "latency", "throughput", "error"):
        found = _measure(record)
        if found and found[0].name in log.nodes and found[0].to in log.nodes:
            told.setdefault(found[0], []).append(found[1])
    plans = list(records(log, "links", "plan"))
    wanted = {subject for plan in plans for subject in planned(plan)}
    if not told and not wanted:
        return Lost(_why_none(log))
    left = _left_out(log)
    entries: dict[Subject, LinkRun | Lost] = {
        s: LinkRun.of(told[s]) if s in told else Lost(_why(log, left, s.name, s.to)) for s in sorted(wanted | set(told))
    }
    for name in log.nodes:
        if not any(name in (s.name, s.to) for s in told):
            entries[node(name)] = Lost(_why(log, left, name))
    return Links(entries, log.nodes, plans[-1] if plans else None)


def _why_none(log: LinksLog) -> str:
    """A failed join, or how agents ended, or that nobody said why."""
    for record in records(log, "join", "failed"):
        tried = [f"{text(t, 'peer')}: {text(t, 'outcome')}" for t in items(record, "tried") if isinstance(t, dict)]
        return f"No link was measured: {text(record, 'node')} found nobody to coordinate ({', '.join(tried)})."
    ended = [f"{name}'s agent: {how}" for name, how in log.ended.items() if how]
    return f"No link was measured: {'; '.join(ended) or 'no agent said why'}."


def _left_out(log: LinksLog) -> dict[str, str]:
    """Node -> why the coordinator went on without it."""
    found = {}
    for record in records(log, "join", "roster"):
        missing = [entry for entry in items(record, "missing") if isinstance(entry, dict)]
        found.update({text(entry, "peer"): text(entry, "reason") for entry in missing})
    found.update({text(r, "peer"): text(r, "reason") for r in records(log, "join", "lost")})
    return found


def _why(log: LinksLog, left: Mapping[str, str], *names: str) -> str:
    for name in names:
        if log.ended.get(name):
            return silence(log, name, "")
        if name in left:
            return f"{name} did not take part: {left[name]}."
    return f"Nobody told what {' -> '.join(names)} carries."
