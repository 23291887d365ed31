"""A small registry over real documents: agents that a test can let fail, for runs without any network."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from gonogo.documents.bundle import Bundle
from gonogo.documents.records import LOGS, LinksLog, NodeLog, PortsLog, Record, step_log
from gonogo.kernel import Control, Findings, Lost, Registry
from gonogo.model import (
    Certainty,
    Diagnosis,
    Figure,
    Finding,
    Level,
    Repair,
    Status,
    TargetInfo,
    link,
    node,
)
from gonogo.target import Target

NODES = ("node0", "node1")


@dataclass(frozen=True)
class Agents:
    """How the agents of a test behave."""

    blocked: bool = False
    crash: bool = False
    silent_links: threading.Event | None = field(default=None, compare=False)  # links wait for it, or for the end
    waiting: threading.Event | None = field(default=None, compare=False)  # set when they wait
    secret: str = ""


class Objects:
    """A fact of a plane that these targets can't see."""

    plane = "kubernetes"


def registry() -> Registry:
    """Three checks, one cause; NET001 and LNK001 judge agents, KUB001 something that isn't there."""
    made = Registry()

    @made.check("NET001")
    def ports(log: PortsLog) -> Iterator[Finding | Figure]:
        for record in log.of("probe"):
            ok = record["outcome"] == "connected"
            where = link(record.node, record["peer"])
            text = f"{record.node} {'reaches' if ok else 'does not reach'} {record['peer']} on port 29500."
            yield Finding(Status.OK if ok else Status.FAIL, where, text, evidence=(record.evidence(text),))
            yield Figure("connect", record["seconds"], "seconds", where)

    @made.check("LNK001")
    def links(log: LinksLog) -> Iterator[Finding]:
        for record in log.of("throughput"):
            yield Finding(Status.OK, node(record.node), f"{record.node} receives {record['gbps']} Gbit/s.")

    @made.check("KUB001")
    def objects(found: Objects) -> Iterator[Finding]:
        yield Finding(Status.OK, node("x"), "There.")

    @made.collector
    def api() -> Objects:
        raise AssertionError("this target can't see it")

    @made.cause("network.port_blocked")
    def blocked(findings: Findings) -> Iterator[Diagnosis]:
        if failed := findings.failed("NET001"):
            yield Diagnosis(
                "network.port_blocked", Certainty.ESTABLISHED, "Port 29500 is blocked.", (failed[0].subject,),
                failed[0].evidence, findings.keys("NET001"), repair=Repair.CHANGE_NETWORK_RULE,
                commands=("nft list ruleset",),
            )  # fmt: skip

    return made


def agents(here: Agents, bundle: Bundle, control: Control) -> Iterator[NodeLog | PortsLog | LinksLog | Lost]:
    """A collector as collect.local's: every record goes through the bundle, each document comes when it is over."""
    records: list[Record] = []
    lines: dict[str, int] = {}

    def write(name: str, step: str, kind: str, **more: object) -> None:
        data = {"v": 1, "run": "r", "node": name, "t": float(len(records)), "step": step, "kind": kind, **more}
        file = f"agents/{name}.jsonl"
        lines[file] = lines.get(file, 0) + 1
        kept = bundle.append(file, json.dumps(data).encode())
        records.append(Record(json.loads(kept), file, lines[file]))

    def over(step: str) -> NodeLog | PortsLog | LinksLog:
        write("fabric", "fabric", "over", of=step, ended=dict.fromkeys(NODES, ""), lines=dict(lines))
        log = step_log(step, NODES, records[:-1], dict.fromkeys(NODES, ""))
        assert isinstance(log, NodeLog | PortsLog | LinksLog)
        return log

    write("fabric", "fabric", "built", made_of="loopback", nodes=[{"name": name} for name in NODES])
    for name in NODES:
        write(name, "agent", "start", sha256="abc")
        write(name, "node", "info", environment={"API_TOKEN": here.secret})
    yield over("node")
    for name, peer in (NODES, NODES[::-1]):
        outcome = "silent" if here.blocked else "connected"
        write(name, "ports", "probe", peer=peer, port=29500, outcome=outcome, seconds=0.25)
    yield over("ports")
    if here.crash:
        raise OSError("the wire is cut")
    if here.silent_links:
        assert here.waiting
        here.waiting.set()
        while not here.silent_links.wait(0.01) and not control.stopped.is_set():
            pass
        return
    for name in NODES:
        write(name, "links", "throughput", gbps=9.5)
    yield over("links")


def target(here: Agents | None = None) -> Target:
    """Such agents as a target."""
    info = TargetInfo("local", "this machine", "this machine, 2 nodes")
    given = {Agents: here or Agents()}
    assert set(LOGS.values()) >= {NodeLog, PortsLog, LinksLog}
    return Target(info, (agents,), given, frozenset({"agents"}), bound_seconds=lambda wanted: 60.0)


LEVEL: Level = "quick"
