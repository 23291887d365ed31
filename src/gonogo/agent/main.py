"""One agent: says what its node is, looks at all ports, joins its peers and does its part of every step.

One thread and one event loop: a framework child may be forked from a process with one thread only. The loop runs
inside each step, and through `poll` while a framework child is waited for.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import hashlib
import os
import platform
import signal
import socket
import sys
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

from gonogo.agent import node, ports
from gonogo.agent.ahead import Ahead
from gonogo.agent.allowance import Allowance
from gonogo.agent.guard import Cut, guarded, leave_word, reported
from gonogo.agent.join import Join, Seat
from gonogo.agent.lead import GIVEN_UP_SECONDS, SILENT_SECONDS, Lead, Message
from gonogo.agent.listeners import Listeners
from gonogo.agent.pair import Pairs
from gonogo.agent.records import Writer
from gonogo.agent.resolve import Resolver, is_address
from gonogo.agent.sockets import Channel, Identity, Silence
from gonogo.agent.spec import FRAMEWORK, RANKED, Spec

T = TypeVar("T")
HEARTBEAT_SECONDS = 0.8
SHARE_OF_LIMIT = 0.75
"""What children have of a limit by which they plan 60 %: a fifth of their time is left for start, end and surprise."""
TOGETHER = ("links", "collectives", "storage", "train")
"""The steps that need the others."""


class Watch(Writer):
    """A writer that remembers whether a framework child of this agent went wrong."""

    failed = False

    def write(self, step: str, kind: str, **fields: Any) -> dict[str, Any]:
        """As Writer."""
        if kind == "exit":
            self.failed = self.failed or fields.get("code") != 0
        return super().write(step, kind, **fields)


class Agent:
    """The state of one agent through all its steps."""

    def __init__(self, spec: Spec, index: int, out: int) -> None:
        self.spec = spec
        self.index = index
        self.name = spec.peers[index]
        self.writer = Watch(spec.run, self.name, out)
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.at = "start"
        self.started = time.monotonic()
        address = spec.addresses[index]
        loopback = address if is_address(address) and address.startswith("127.") else ""
        self.me = Identity(spec.run, self.name, loopback)
        self.addresses: dict[str, str] = {}
        self.outcomes: ports.Outcomes = {}
        self.allowance = Allowance(spec)
        self.join = Join(spec, self.me, self.writer, self.addresses, self.outcomes, self.allowance)
        self.pairs = Pairs(spec, self.me, self.writer)
        self._ahead: Ahead | None = None  # what the coordinator said while a framework step had the say
        self._tasks: list[asyncio.Future[Any]] = []

    def live(self) -> None:
        """All steps, in order."""
        self.writer.write(
            "agent", "start", index=self.index, pid=os.getpid(), python=platform.python_version(),
            sha256=archive_sha256(), host=socket.gethostname(),
        )  # fmt: skip
        self._tasks.append(self.loop.create_task(self._beat()))
        together = [step for step in TOGETHER if step in self.spec.steps]
        if "node" in self.spec.steps:
            self._run("node", self._node())
        if "ports" in self.spec.steps or "join" in self.spec.steps or together:
            self._run("ports", self._ports())
        if not self._ends_with_ports:
            self._together(together)
        self.at = "finish"
        self.writer.write("agent", "finish")

    def close(self) -> None:
        """End the loop and all that runs in it."""
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        asyncio.set_event_loop(None)
        self.loop.close()

    def _run(self, step: str, work: Awaitable[T]) -> T | None:
        self.at = step
        with guarded(self.writer, step):
            return self.loop.run_until_complete(asyncio.wait_for(work, self.spec.step_seconds[step]))
        return None

    def poll(self) -> str:
        """Let the loop do what is due, while something else has the say; why that is to end, if it is."""
        for _ in range(4):  # what came in, what it wakes, and what that sends
            self.loop.run_until_complete(asyncio.sleep(0))
        return "lost" if self._ahead and self._ahead.parted(time.monotonic()) else ""

    async def _beat(self) -> None:
        while True:
            self.writer.write("agent", "heartbeat", at=self.at)
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def _node(self) -> None:
        fields = node.info(self.spec.environment)
        limit = self.spec.step_seconds["node"] - 1.0
        resolver = Resolver([fields["hostname"]], patience_seconds=0.0, limit_seconds=limit)
        own = await resolver.of(fields["hostname"])
        self.writer.write("node", "info", own_addresses=own.addresses, own_name_error=own.error, **fields)

    async def _ports(self) -> None:
        spec = self.spec
        patience = max(0.0, self.started + spec.start_seconds - time.monotonic())
        resolver = Resolver(spec.addresses, patience, patience + spec.connect_seconds)
        self.listeners = Listeners(
            self.me, self.writer, spec.agent_port, self._visit, spec.connect_seconds, self.join.heard
        )
        for port, role in ports.roles(spec).items():
            self.listeners.open(port, role)
        try:
            until = self.started + spec.start_seconds
            self.outcomes.update(await ports.survey(spec, self.me, self.writer, resolver, until, self.join.heard))
        finally:
            resolver.close()
            self.writer.write("ports", "neighbours", neighbours=node.neighbours())
            for peer, name in zip(spec.peers, spec.addresses, strict=True):
                self.addresses[peer] = (await resolver.of(name)).address
        if self._ends_with_ports:
            await self._answer_the_late(until)

    @property
    def _ends_with_ports(self) -> bool:
        return not {"join", *TOGETHER} & {*self.spec.steps}

    async def _answer_the_late(self, until: float) -> None:
        """Stay until all peers have probed this node, or could have."""
        while time.monotonic() < until and not self.listeners.reached_by(self.spec.peers):
            await asyncio.sleep(0.05)

    async def _visit(self, channel: Channel, message: Message) -> None:
        if "join" in message:
            await self.join.visit(channel, message)
        elif "pair" in message:
            self.pairs.arrive(channel, message)
        else:
            channel.close()

    def _together(self, remaining: list[str]) -> None:
        """Join and follow; join again should the coordinator be lost, until no step remains."""
        while True:
            seat = self._run("join", self._join(remaining))
            if seat is None or self._follow(seat, remaining) or not remaining or seat.lead is not None:
                return  # at the end, or because a bug ended this node's own lead: the others join without it

    async def _join(self, remaining: list[str]) -> Seat:
        seat = await self.join.run(remaining)
        if seat.lead is not None:
            common = [s for s in remaining if all(s in m.remaining for m in seat.lead.members.values())]
            self._tasks.append(self.loop.create_task(self._lead(seat.lead, common)))
        return seat

    async def _lead(self, lead: Lead, steps: list[str]) -> None:
        try:
            with reported(self.writer, lead.at):
                await lead.run(steps)
        finally:
            lead.close()  # whatever becomes of the coordinator, its members are not to wait for it

    def _follow(self, seat: Seat, remaining: list[str]) -> bool:
        """Do what the coordinator says; False if it was lost."""
        while True:
            try:
                command = self.loop.run_until_complete(self._next(seat))
            except Cut:
                return False
            if command["do"] == "finish":
                return True
            if command["do"] == "begin" and command["step"] in remaining:
                remaining.remove(command["step"])
                self._take_part(seat, command["step"])
                if seat.coordinator in self.join.lost:
                    return False

    def _take_part(self, seat: Seat, step: str) -> None:
        self.at = step
        crashed: list[str] = []
        damaged, started = node.checksum_errors(), time.monotonic()
        with guarded(self.writer, step):
            try:
                while (command := self.loop.run_until_complete(self._next(seat)))["do"] != "end":
                    reply: Message = {"failed": True}
                    with reported(self.writer, step) as errors:
                        reply = self._do(command, seat)
                    crashed += errors
                    self.loop.run_until_complete(seat.line.send({**reply, "order": command.get("order")}))
            except Cut:
                self._do({"do": "look-again", "after": step}, seat)  # nobody is left to say so
                raise
            finally:
                if step in FRAMEWORK:
                    self.allowance.spent(step, time.monotonic() - started)
            now = node.checksum_errors() if step == "links" else None
            if now is not None and damaged is not None:
                self.writer.write("links", "damaged", segments=now - damaged)
            if crashed:
                raise Cut(crashed[0])

    def _do(self, command: Message, seat: Seat) -> Message:
        if command["do"] == "framework":
            self._ahead = Ahead(self.loop.create_task(self._listen(seat)))
            return self._framework(command["step"], command["members"], command["addresses"], command["seconds"])
        if command["do"] == "pair":
            # what this node resolves goes before the peer's own word: its own name may lead to its loopback
            known = self.addresses.get(command["peer"], "") or command.get("address", "")
            return self.loop.run_until_complete(self.pairs.measure({**command, "address": known}))
        if command["do"] == "look-again":
            work = ports.look_again(self.spec, self.me, self.writer, self.addresses, command["after"])
            self.loop.run_until_complete(work)
        return {}

    def _framework(self, step: str, members: list[str], given: list[str], limit: float) -> Message:
        """Run framework children; what they need of the rendezvous is what this node's resolver says of rank 0's."""
        from gonogo.agent.beside import run_ranks

        self.listeners.close(self.spec.rendezvous_port)
        addresses = [self.addresses.get(m) or a for m, a in zip(members, given, strict=True)]
        reserve = 2 * self.spec.connect_seconds + SILENT_SECONDS  # to look at the ports again, if this fails
        limit = min(limit, self.spec.step_seconds[step])
        seconds = max(limit - reserve, limit / 2)
        self.writer.failed = False
        each = self.spec.ranks_per_node if step in RANKED else 1
        nodes, at = ([entry for entry in entries for _ in range(each)] for entries in (members, addresses))
        ranks = [rank for rank, name in enumerate(nodes) if name == self.name]
        # what children plan by, alike on all ranks: never more than they have
        limits = {**self.spec.step_seconds, step: min(limit, seconds / SHARE_OF_LIMIT)}
        spec = dataclasses.replace(self.spec, step_seconds=limits)
        run_ranks(step, spec, ranks, nodes, at, self.writer, time.monotonic() + seconds, self.poll)
        return {"failed": self.writer.failed}

    async def _next(self, seat: Seat) -> Message:
        """The coordinator's next word; the first of them may have come ahead. Raises as _listen."""
        ahead, self._ahead = self._ahead, None
        return await (ahead.word if ahead else self._listen(seat))

    async def _listen(self, seat: Seat) -> Message:
        """What the coordinator says. Raises Cut, and records the loss, when it is gone or silent."""
        while True:
            try:
                message = await seat.line.next(SILENT_SECONDS)
                if message is not None:
                    return message
                reason = "closed its connection"
            except Silence as silence:
                outcome = await self.join.probe(seat.coordinator)
                silent_seconds = getattr(seat.line, "silent_seconds", 0.0)
                if outcome == "connected" and silent_seconds < GIVEN_UP_SECONDS:
                    continue
                reason = f"{silence}, and its port answers: {outcome}"
            self.join.lost[seat.coordinator] = reason
            self.writer.write("join", "lost", peer=seat.coordinator, reason=reason, at=self.at)
            seat.line.close()
            raise Cut(f"lost the coordinator {seat.coordinator}: {reason}")


def archive_sha256() -> str:
    """Of the archive that this code came from; "" if it is no archive."""
    archive = getattr(globals().get("__loader__"), "archive", "")
    return hashlib.sha256(Path(archive).read_bytes()).hexdigest() if archive else ""


def _terminate(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def run(spec: Spec, index: int, out: int = 1) -> int:
    """Run one agent in this process, records to the file descriptor `out`; 0 when it came to its end."""
    agent = Agent(spec, index, out)
    before = signal.signal(signal.SIGTERM, _terminate)  # the first process of a container has no default for it
    try:
        agent.live()
    except BaseException as e:
        leave_word(f"gonogo agent {agent.name}: ended by {type(e).__name__} {e} in step {agent.at}")
        raise
    finally:
        with contextlib.suppress(OSError):
            agent.close()
        signal.signal(signal.SIGTERM, before)
    return 0


def main(argv: list[str] | None = None) -> int:
    """The command line of the archive: --spec FILE, --index N (default: $JOB_COMPLETION_INDEX)."""
    parser = argparse.ArgumentParser(prog="gonogo-agent")
    parser.add_argument("--spec", required=True, metavar="FILE")
    parser.add_argument("--index", type=int, default=os.environ.get("JOB_COMPLETION_INDEX"), metavar="N")
    arguments = parser.parse_args(argv)
    try:
        spec = Spec.from_json(Path(arguments.spec).read_text())
    except (OSError, ValueError, TypeError) as e:
        parser.error(f"--spec {arguments.spec}: {e}")
    if arguments.index is None or not 0 <= arguments.index < len(spec.peers):
        parser.error(f"--index: expected 0 to {len(spec.peers) - 1}, got {arguments.index}")
    return run(spec, arguments.index)


if __name__ == "__main__":
    sys.exit(main())
