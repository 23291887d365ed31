"""The coordinator: who is present, what they do next, and who was lost on the way. Nobody can make it wait for ever."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from gonogo.agent.allowance import Allowance
from gonogo.agent.guard import reported
from gonogo.agent.ports import roles, unreached
from gonogo.agent.records import Writer
from gonogo.agent.sockets import Silence
from gonogo.agent.spec import FRAMEWORK, RANKED, Spec
from gonogo.links.group import together

SILENT_SECONDS = 4.0
GIVEN_UP_SECONDS = 12.0
"""So long may a member be silent whose port still answers: it is busy, not gone."""

Message = dict[str, Any]


class Line(Protocol):
    """What connects coordinator and member: a Channel, or a Local within one process."""

    async def send(self, message: Message) -> None: ...
    async def next(self, patience_seconds: float = ...) -> Message | None: ...
    def close(self) -> None: ...


class Local:
    """One end of a line between the coordinator and the member that live in the same agent."""

    def __init__(self) -> None:
        self._inbox: asyncio.Queue[Message | None] = asyncio.Queue()
        self.other = self

    @classmethod
    def pair(cls) -> tuple[Local, Local]:
        """Both ends."""
        one, two = cls(), cls()
        one.other, two.other = two, one
        return one, two

    async def send(self, message: Message) -> None:
        """Never blocks."""
        self.other._inbox.put_nowait(message)

    async def next(self, patience_seconds: float = float("inf")) -> Message | None:
        """The next message; None when the other end is closed."""
        return await self._inbox.get()

    def close(self) -> None:
        """The other end receives None."""
        self.other._inbox.put_nowait(None)


@dataclass
class Member:
    """One that joined: its line, what its ports step found (peer -> port as text -> outcome), what it has yet to do."""

    name: str
    line: Line
    row: dict[str, dict[str, str]]
    address: str = ""
    remaining: tuple[str, ...] = ()
    lost: str = ""
    replies: dict[int, asyncio.Future[Message | None]] = field(default_factory=dict)


class Lead:
    """Leads the members through the steps that all of them have still to do."""

    def __init__(
        self,
        spec: Spec,
        writer: Writer,
        members: dict[str, Member],
        missing: dict[str, str],
        probe: Callable[[str], Awaitable[str]],
        allowance: Allowance,
    ) -> None:
        self.spec, self.writer, self.members, self.missing = spec, writer, members, missing
        self.at, self._allowance = "join", allowance
        self._probe = probe  # peer -> outcome of its agent port, now
        self._orders = 0
        self._together: list[str] = []  # who runs a framework step now, and waits for all others in it
        self._told: list[asyncio.Future[None]] = []  # on the way, held so that they get there
        self._readers = [asyncio.ensure_future(self._read(member)) for member in members.values()]

    @property
    def present(self) -> list[str]:
        """Those that joined and were not lost, in index order."""
        return [n for n in self.spec.peers if n in self.members and not self.members[n].lost]

    async def run(self, steps: list[str]) -> None:
        """All steps, then `finish`."""
        for step in steps:
            self.at = step
            names = self.present
            await self.tell(names, {"do": "begin", "step": step})
            limit, started = self.spec.step_seconds[step], time.monotonic()
            with reported(self.writer, step), contextlib.suppress(asyncio.TimeoutError):
                await (asyncio.wait_for(self._links(), limit) if step == "links" else self._framework(step))
            if step in FRAMEWORK:
                self._allowance.spent(step, time.monotonic() - started)
            await self.tell(names, {"do": "end"})
        await self.tell(self.present, {"do": "finish"})

    def close(self) -> None:
        """Close all lines; whoever has not been told to finish sees the coordinator lost."""
        for task in (*self._readers, *self._told):
            task.cancel()
        for member in self.members.values():
            member.line.close()

    async def tell(self, names: list[str], message: Message) -> None:
        """Send without asking for a reply."""
        await asyncio.gather(*(self._send(self.members[name], message) for name in names))

    async def order(self, messages: dict[str, Message], seconds: float) -> dict[str, Message | None]:
        """Send each its own message and wait for all replies; None for the lost and for those that took too long."""
        loop = asyncio.get_running_loop()
        self._orders += 1
        waiting = {}
        for name, message in messages.items():
            member = self.members[name]
            member.replies[self._orders] = waiting[name] = loop.create_future()
            if member.lost:
                waiting[name].set_result(None)
            else:
                await self._send(member, {**message, "order": self._orders})
        if waiting:
            await asyncio.wait(waiting.values(), timeout=seconds)
        return {name: reply.result() if reply.done() else None for name, reply in waiting.items()}

    async def _send(self, member: Member, message: Message) -> None:
        # a member that is frozen no longer empties its side: sending to it must not hold up the others
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(member.line.send(message), SILENT_SECONDS)

    async def _read(self, member: Member) -> None:
        while not member.lost:
            try:
                reply = await member.line.next(SILENT_SECONDS)
            except Silence as silence:
                await self._doubt(member, silence)
                continue
            if reply is None:
                self._lose(member, "closed its connection")
            elif isinstance(number := reply.get("order"), int) and number in member.replies:
                answer = member.replies.pop(number)
                if not answer.done():
                    answer.set_result(reply)

    async def _doubt(self, member: Member, silence: Silence) -> None:
        """A busy machine must not look like a dead one: the port has the last word, for a while."""
        outcome = await self._probe(member.name)
        silent_seconds = getattr(member.line, "silent_seconds", 0.0)
        if silent_seconds < SILENT_SECONDS:
            return
        if outcome != "connected":
            self._lose(member, f"{silence}, and its port answers: {outcome}")
        elif silent_seconds > GIVEN_UP_SECONDS:
            self._lose(member, f"{silence}, though its port answers")

    def _lose(self, member: Member, reason: str) -> None:
        member.lost = reason
        self.writer.write("join", "lost", peer=member.name, reason=reason, at=self.at)
        for reply in member.replies.values():
            if not reply.done():
                reply.set_result(None)
        if member.name in self._together:
            waiting = [name for name in self._together if not self.members[name].lost]
            self._told.append(asyncio.ensure_future(self.tell(waiting, {"do": "stop", "lost": member.name})))

    def reaches(self, source: str, target: str, port: int) -> str:
        """The outcome of the ports step in one direction; "not tried" if nobody said."""
        member = self.members.get(source)
        return member.row.get(target, {}).get(str(port), "not tried") if member else "not tried"

    def group(self) -> tuple[list[str], list[dict[str, str]]]:
        """Who takes part in framework steps, and who doesn't and why."""
        names = self.present
        needed = [port for port, role in roles(self.spec).items() if role != "agent"]
        broken = {}
        for a in names:
            for b in names:
                row = {port: self.reaches(a, b, port) for port in needed}
                failed = unreached(row, needed)
                if a == b and "connected" not in row.values():
                    failed = {}  # that a node can't dial itself at all is how some networks are, and no hindrance
                if failed:
                    broken[a, b] = ", ".join(f"port {port} is {outcome}" for port, outcome in sorted(failed.items()))
        members, left_out = together(names, broken)
        gone = {m.name: f"lost: {m.lost}" for m in self.members.values() if m.lost}
        left_out = {**self.missing, **gone, **left_out}
        if len(members) < 2 <= len(self.spec.peers):
            left_out.update({m: f"no other node can work with {m}" for m in members})
            members = []
        return members, [{"peer": p, "reason": left_out[p]} for p in self.spec.peers if p in left_out]

    async def _links(self) -> None:
        from gonogo.agent.tour import tour

        await tour(self)

    async def _framework(self, step: str) -> None:
        """One group runs the step; should it fail, all who are left look at the ports again."""
        members, left_out = self.group()
        several = {"ranks_per_node": each} if step in RANKED and (each := self.spec.ranks_per_node) > 1 else {}
        self.writer.write(step, "group", members=members, left_out=left_out, **several)
        if not members:
            return
        started, limit = time.monotonic(), self._allowance.of(step)
        addresses = [self.members[name].address for name in members]
        message = {"do": "framework", "step": step, "members": members, "addresses": addresses, "seconds": limit}
        self._together = members
        replies = await self.order(dict.fromkeys(members, message), limit + 2.0)
        self._together = []
        if all(reply is not None and not reply.get("failed") for reply in replies.values()):
            return
        # the silence of a lost member is noticed some seconds later than the failure of the others
        await asyncio.sleep(max(0.0, min(SILENT_SECONDS / 2, SILENT_SECONDS - (time.monotonic() - started))))
        limit = 2 * self.spec.connect_seconds + 1.0
        await self.order({name: {"do": "look-again", "after": step} for name in self.present}, limit)
