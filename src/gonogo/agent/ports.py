"""Step `ports`: every peer on every port that rendezvous and collectives use, all at once, before any coordination."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping

from gonogo.agent.records import Writer
from gonogo.agent.resolve import Resolved, Resolver
from gonogo.agent.sockets import Answer, Identity, ask
from gonogo.agent.spec import Spec

RETRY_SECONDS = (0.2, 1.0)  # the first pause, and the longest
SETTLED_SECONDS = 8.0
"""So long after a peer is known to have started, its refusals are believed: by then its network is made, too."""
_MAY_CHANGE = {"refused", "reset", "unreachable"}  # what a peer that has not started yet looks like

Outcomes = dict[str, dict[int, str]]
"""Peer -> port -> outcome, as in gonogo.agent.records."""


def roles(spec: Spec) -> dict[int, str]:
    """Port -> what it is for."""
    probes = dict.fromkeys(spec.probe_ports, "probe")
    return {**probes, spec.rendezvous_port: "rendezvous", spec.agent_port: "agent"}


async def survey(
    spec: Spec, me: Identity, writer: Writer, resolver: Resolver, until: float, heard: Collection[str] = ()
) -> Outcomes:
    """Probe all peers, oneself included; peers may still be starting `until` (time.monotonic()), unless `heard` of.

    An agent listens on all ports before it dials anybody: one of them that answers, or a call from there, tells of all.
    The connections are held until the last probe is over: a limit on how many there may be shows only then.
    """
    held: list[Answer] = []
    hushed: set[str] = set()  # peers with a port that refused at first and was silent then
    outcomes: Outcomes = {name: {} for name in spec.peers}
    latest = dict.fromkeys(spec.peers, until)  # when each peer is asked for the last time

    def may_change(peer: str, outcome: str, pause: float) -> bool:
        now = time.monotonic()
        if outcome == "connected" or peer in heard:
            latest[peer] = min(latest[peer], now + SETTLED_SECONDS)
        return outcome in _MAY_CHANGE and now + pause <= latest[peer]

    async def probe(peer: str, resolved: Resolved, port: int, role: str) -> None:
        attempts, answer = 0, Answer("name_unknown")
        pause, longest = RETRY_SECONDS
        while resolved.address:
            attempts, before = attempts + 1, answer
            answer = await ask(me, peer, resolved.address, port, spec.connect_seconds)
            if answer.outcome == "silent" and attempts > 1:
                hushed.add(peer)
                answer = before  # who rejects limits how often it says so: the refusal stands
            if not may_change(peer, answer.outcome, pause):
                break
            await asyncio.sleep(pause)
            pause = min(longest, 1.5 * pause)
        held.append(answer)
        outcomes[peer][port] = answer.outcome
        _record(writer, peer, resolved.address, port, role, answer, attempts)

    async def visit(peer: str, name: str) -> None:
        resolved = await resolver.of(name)
        writer.write(
            "ports", "resolve", peer=peer, name=name, addresses=resolved.addresses, error=resolved.error,
            seconds=resolved.seconds,
        )  # fmt: skip
        await asyncio.gather(*(probe(peer, resolved, port, role) for port, role in roles(spec).items()))

    try:
        await asyncio.gather(*(visit(peer, name) for peer, name in zip(spec.peers, spec.addresses, strict=True)))
    finally:
        for answer in held:
            answer.close()
    addresses = {name: await resolver.of(name) for name in spec.addresses}
    dialled = {peer: addresses[name].address for peer, name in zip(spec.peers, spec.addresses, strict=True)}
    await _once_more(spec, me, writer, dialled, outcomes, hushed)
    return outcomes


async def _once_more(
    spec: Spec, me: Identity, writer: Writer, addresses: Mapping[str, str], outcomes: Outcomes, hushed: set[str]
) -> None:
    """Try again, one by one, where the ports of a peer did not fare alike: what a limit kept out now comes in.

    The same where none of them answered and those of other peers did: others may have taken all that the limit allows.
    What connects counts for what follows. The first that does not ends it for that peer: it is no limit.
    """
    missed = ("silent", "refused", "reset")  # refused: before the peer had started, and silent from then on

    async def visit(peer: str) -> None:
        order = sorted(roles(spec).items(), key=lambda item: item[1])  # agent, probe, rendezvous
        for port, role in order:
            if outcomes[peer].get(port) not in missed:
                continue
            answer = await ask(
                me, peer, addresses[peer], port, spec.connect_seconds + 1.0
            )  # others may still hold theirs
            _record(writer, peer, addresses[peer], port, role, answer, 1, after="held")
            answer.close()
            if answer.outcome != "connected":
                break
            outcomes[peer][port] = answer.outcome

    def may_be_limited(peer: str, row: Mapping[int, str]) -> bool:
        alike = len({*row.values()}) == 1
        return ("silent" in row.values() or peer in hushed) and (not alike or reaches_others)

    reaches_others = any("connected" in row.values() for peer, row in outcomes.items() if peer != me.node)
    await asyncio.gather(*(visit(peer) for peer, row in outcomes.items() if may_be_limited(peer, row)))


async def look_again(spec: Spec, me: Identity, writer: Writer, addresses: Mapping[str, str], after: str) -> None:
    """Probe all peers once more when a step went wrong, to tell the dead from the frozen and from the cut off.

    The rendezvous port is left alone: a framework may still hold it.
    """
    ports = {port: role for port, role in roles(spec).items() if role != "rendezvous"}

    async def probe(peer: str, port: int, role: str) -> None:
        address = addresses.get(peer, "")
        attempts, answer = 0, Answer("reset" if address else "name_unknown")
        while answer.outcome == "reset" and attempts < 2:  # a reset is how a port looks in the moment of its death
            attempts += 1
            answer = await ask(me, peer, address, port, spec.connect_seconds)
        _record(writer, peer, address, port, role, answer, attempts, after=after)
        answer.close()

    await asyncio.gather(*(probe(peer, port, role) for peer in spec.peers for port, role in ports.items()))


def _record(
    writer: Writer, peer: str, address: str, port: int, role: str, answer: Answer, attempts: int, **more: str
) -> None:
    writer.write(
        "ports", "probe", peer=peer, address=address, port=port, role=role, outcome=answer.outcome, errno=answer.errno,
        seconds=answer.seconds, answered_by=answer.answered_by, seen_as=answer.seen_as, attempts=attempts,
        clock_offset=answer.clock_offset, **more,
    )  # fmt: skip


def unreached(row: Mapping[int, str], ports: Iterable[int]) -> dict[int, str]:
    """Of these ports the ones that could not be reached, with the outcome."""
    return {port: row.get(port, "not tried") for port in ports if row.get(port) != "connected"}
