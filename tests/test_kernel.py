"""The kernel's promises, each with a test that fails without it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from gonogo.kernel import (
    CheckDone,
    Control,
    Diagnosed,
    FactCame,
    Findings,
    Lost,
    PerNode,
    Registry,
    RegistryError,
    Run,
    Skip,
)
from gonogo.model import CLUSTER, Certainty, Diagnosis, Finding, Status, node


@dataclass(frozen=True)
class Ports:
    open: int


@dataclass(frozen=True)
class Links:
    gbps: float


@dataclass(frozen=True)
class Train:
    loss: float


class Nodes(PerNode[int]): ...


def ok(message: str = "fine") -> Finding:
    return Finding(Status.OK, CLUSTER, message)


def findings(run: Run) -> list[Finding]:
    return [f for event in run if isinstance(event, CheckDone) for f in event.findings]


def simple_check(registry: Registry, id: str, fact: type) -> None:
    def call(value) -> Iterator[Finding]:  # type: ignore[no-untyped-def]
        yield ok(repr(value))

    call.__annotations__.update(value=fact, **{"return": Iterator[Finding]})
    registry.check(id)(call)


def test_several_facts_of_one_running_collector_are_judged_one_by_one() -> None:
    registry, gate = Registry(), threading.Event()

    @registry.collector
    def agents() -> Iterator[Ports | Links]:
        yield Ports(3)
        assert gate.wait(10)
        yield Links(1.0)

    simple_check(registry, "NET001", Ports)
    simple_check(registry, "LNK001", Links)
    done = []
    for event in Run(registry, registry.checks.values()):
        if isinstance(event, CheckDone):
            done.append(event.check)
            gate.set()  # the collector goes on only when its first fact has been judged
    assert done == ["NET001", "LNK001"]


def test_what_was_promised_and_never_came_is_unknown_and_what_came_stays() -> None:
    registry = Registry()

    @registry.collector
    def agents() -> Iterator[Ports | Links | Train]:
        yield Ports(3)
        yield Lost("node1 is silent", fact=Links)

    for id, fact in (("NET001", Ports), ("LNK001", Links), ("TRN001", Train)):
        simple_check(registry, id, fact)
    found = {f.check: f for f in findings(Run(registry, registry.checks.values()))}
    assert {id: f.status for id, f in found.items()} == {"NET001": "ok", "LNK001": "unknown", "TRN001": "unknown"}
    assert found["LNK001"].message == "node1 is silent"
    assert "ended without it" in found["TRN001"].message


def test_findings_before_a_crash_are_kept_beside_the_unknown() -> None:
    registry = Registry()

    @registry.check("NET001")
    def crashing(ports: Ports) -> Iterator[Finding]:
        yield ok()
        raise ValueError("boom")

    found = findings(Run(registry, registry.checks.values(), {Ports: Ports(1)}))
    assert [f.status for f in found] == ["ok", "unknown"]
    assert "boom" in found[1].message
    assert "crashing" in found[1].traceback


def test_facts_before_a_collectors_crash_are_kept() -> None:
    registry = Registry()

    @registry.collector
    def agents() -> Iterator[Ports | Links]:
        yield Ports(1)
        raise OSError("no route")

    simple_check(registry, "NET001", Ports)
    simple_check(registry, "LNK001", Links)
    assert [f.status for f in findings(Run(registry, registry.checks.values()))] == ["ok", "unknown"]


def test_a_lost_node_adds_an_unknown_for_it_alone() -> None:
    registry = Registry()

    @registry.check("NOD001")
    def each(nodes: Nodes) -> Iterator[Finding]:
        for subject in nodes.present:
            yield Finding(Status.OK, subject, "there")

    nodes = Nodes.of([node("a"), node("b")], {node("a"): 1}, "node b said nothing")
    found = findings(Run(registry, registry.checks.values(), {Nodes: nodes}))
    assert [(f.status, f.subject) for f in found] == [("ok", node("a")), ("unknown", node("b"))]


def test_a_check_that_saw_nothing_is_unknown() -> None:
    registry = Registry()

    @registry.check("NOD001")
    def none(nodes: Nodes) -> Iterator[Finding]:
        yield from ()

    assert [f.status for f in findings(Run(registry, registry.checks.values(), {Nodes: Nodes({})}))] == ["unknown"]


@pytest.mark.parametrize("order", [(Ports, Links), (Links, Ports)])
def test_of_several_lost_needs_unknown_beats_skip(order: tuple[type, type]) -> None:
    registry = Registry()

    def both(a, b) -> Iterator[Finding]:  # type: ignore[no-untyped-def]
        yield ok()

    both.__annotations__.update(a=order[0], b=order[1], **{"return": Iterator[Finding]})
    registry.check("NET001")(both)
    given = {Ports: Lost("not asked for", Status.SKIP), Links: Lost("denied")}
    assert [f.status for f in findings(Run(registry, registry.checks.values(), given))] == ["unknown"]


def test_skip_is_a_skip_with_its_reason() -> None:
    registry = Registry()

    @registry.collector
    def ports() -> Ports:
        raise Skip("level read starts nothing")

    simple_check(registry, "NET001", Ports)
    (found,) = findings(Run(registry, registry.checks.values()))
    assert (found.status, found.message) == (Status.SKIP, "level read starts nothing")


def test_an_optional_fact_is_waited_for_but_never_collected_for_its_own_sake() -> None:
    started: list[str] = []

    def build() -> Registry:
        registry = Registry()

        @registry.collector
        def train() -> Train:
            started.append("train")
            return Train(1.0)

        @registry.check("LNK002")
        def links(ports: Ports, train: Train | None) -> Iterator[Finding]:
            yield ok(f"train={train is not None}")

        simple_check(registry, "TRN001", Train)
        return registry

    registry = build()
    alone = findings(Run(registry, [registry.checks["LNK002"]], {Ports: Ports(1)}))
    assert ([f.message for f in alone], started) == (["train=False"], [])
    both = findings(Run(registry, registry.checks.values(), {Ports: Ports(1)}))
    assert "train=True" in [f.message for f in both]


def test_what_a_run_can_parse_of_what_it_has_is_there_for_checks_and_causes() -> None:
    registry, told = Registry(), []

    @registry.collector
    def train() -> Train:
        raise AssertionError("nobody asked for training")

    @registry.parser
    def links(ports: Ports) -> Links:
        return Links(float(ports.open))

    @registry.check("NET001")
    def check(ports: Ports, links: Links | None, train: Train | None) -> Iterator[Finding]:
        yield ok(f"{links is not None} {train is not None}")

    @registry.cause("network.port_blocked")
    def cause(findings: Findings, links: Links) -> Iterator[Diagnosis]:
        told.append(links)
        yield from ()

    given = {Ports: Ports(1)}
    assert [f.message for f in findings(Run(registry, registry.checks.values(), given))] == ["True False"]
    assert told


def test_a_collector_is_told_what_is_wanted() -> None:
    registry, seen = Registry(), []

    @registry.collector
    def agents(control: Control) -> Iterator[Ports | Train]:
        seen.append(Train in control.wanted or Ports not in control.wanted)
        yield Ports(1)

    simple_check(registry, "NET001", Ports)
    simple_check(registry, "TRN001", Train)
    assert [f.status for f in findings(Run(registry, [registry.checks["NET001"]]))] == ["ok"]
    assert seen == [False]


def test_a_missing_maker_and_a_cycle_are_errors_by_name() -> None:
    registry = Registry()
    simple_check(registry, "NET001", Ports)
    with pytest.raises(RegistryError, match="NET001 needs Ports"):
        Run(registry, registry.checks.values())

    @registry.parser
    def ports(links: Links) -> Ports: ...

    @registry.parser
    def links(ports: Ports) -> Links: ...

    with pytest.raises(RegistryError, match=r"ports -> links -> ports|links -> ports -> links"):
        Run(registry, registry.checks.values())


@pytest.mark.parametrize("how", ["interrupt", "deadline"])
def test_a_hanging_collector_is_given_up_and_the_rest_is_kept(how: str) -> None:
    registry, release = Registry(), threading.Event()

    @registry.collector
    def agents(control: Control) -> Iterator[Ports | Links]:
        yield Ports(1)
        release.wait(60)  # deaf to control.stopped, as code that hangs in C is
        yield Links(1.0)

    simple_check(registry, "NET001", Ports)
    simple_check(registry, "LNK001", Links)
    run = Run(registry, registry.checks.values(), seconds=1.0 if how == "deadline" else 60)
    found, began = [], time.monotonic()
    for event in run:
        if isinstance(event, CheckDone):
            found += event.findings
            if how == "interrupt" and event.check == "NET001":
                run.interrupt()
    release.set()
    assert time.monotonic() - began < 10  # and not the collector's 60
    assert [(f.check, f.status) for f in found] == [("NET001", "ok"), ("LNK001", "unknown")]
    assert ("interrupted" if how == "interrupt" else "time was up") in found[1].message


def test_what_was_given_up_is_waited_for_but_not_for_ever() -> None:
    registry, may_clear, cleared, deaf = Registry(), threading.Event(), threading.Event(), threading.Event()

    @registry.collector
    def agents(control: Control) -> Iterator[Ports]:
        may_clear.wait(60)
        cleared.set()
        deaf.wait(60)
        yield Ports(1)

    simple_check(registry, "NET001", Ports)
    run = Run(registry, registry.checks.values())
    run.interrupt()
    assert [e.findings[0].status for e in run if isinstance(e, CheckDone)] == ["unknown"]
    assert not cleared.is_set()
    threading.Timer(0.1, may_clear.set).start()
    began = time.monotonic()
    run.settle(2.0)
    assert cleared.is_set()
    assert 1.9 < time.monotonic() - began < 10
    deaf.set()
    run.settle(60)  # over: no wait


def test_causes_are_rerun_as_findings_come() -> None:
    registry, named = Registry(), threading.Event()

    @registry.collector
    def agents() -> Iterator[Ports | Train]:
        yield Ports(0)
        assert named.wait(10)  # the rest runs on while the cause is named
        yield Train(0.1)

    @registry.check("NET001")
    def open_ports(ports: Ports) -> Iterator[Finding]:
        yield Finding(Status.FAIL, CLUSTER, "blocked")

    simple_check(registry, "TRN001", Train)

    @registry.cause("network.port_blocked")
    def blocked(findings: Findings, ports: Ports) -> Iterator[Diagnosis]:
        if bad := findings.failed("NET001"):
            keys = tuple(f.key for f in bad)
            yield Diagnosis("network.port_blocked", Certainty.SUPPORTED, "blocked", (CLUSTER,), (), keys)

    order: list[str] = []
    for event in Run(registry, registry.checks.values()):
        if isinstance(event, Diagnosed):
            order.append(event.diagnoses[0].cause)
            named.set()
        elif isinstance(event, CheckDone):
            order.append(event.check)
    assert order == ["NET001", "network.port_blocked", "TRN001"]


def test_a_cause_does_not_run_on_absent_facts_and_its_crash_is_an_unknown() -> None:
    registry = Registry()
    simple_check(registry, "NET001", Ports)

    @registry.cause("link.never")
    def never(findings: Findings, links: Links) -> Iterator[Diagnosis]:
        raise AssertionError("it ran without its fact")

    @registry.cause("network.crash")
    def crash(findings: Findings, ports: Ports) -> Iterator[Diagnosis]:
        raise ValueError("boom")

    found = findings(Run(registry, registry.checks.values(), {Ports: Ports(1)}))
    assert [(f.check, f.status) for f in found] == [("NET001", "ok"), ("network.crash", "unknown")]


def test_parsers_run_between_collector_and_check() -> None:
    registry = Registry()

    @registry.collector
    def raw() -> Ports:
        return Ports(7)

    @registry.parser
    def parse(ports: Ports) -> Links:
        return Links(float(ports.open))

    simple_check(registry, "LNK001", Links)
    events = list(Run(registry, registry.checks.values()))
    assert [e.fact for e in events if isinstance(e, FactCame)] == [Ports, Links]


def wrong_id(registry: Registry) -> None:
    simple_check(registry, "lnk1", Ports)


def twice(registry: Registry) -> None:
    simple_check(registry, "LNK001", Ports)
    simple_check(registry, "LNK001", Ports)


def untyped(registry: Registry) -> None:
    registry.check("LNK001")(lambda ports: iter(()))


@pytest.mark.parametrize("mistake", [wrong_id, twice, untyped])
def test_mistakes_in_registration_are_errors(mistake: Callable[[Registry], None]) -> None:
    with pytest.raises(RegistryError):
        mistake(Registry())
