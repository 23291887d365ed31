"""Step `join`: find who coordinates, or coordinate. The first peer that can be reached does, normally peer 0.

    member       {"join": node, "row": its ports outcomes, "address": its own, "remaining": its steps}
    coordinator  {"welcome": node} · {"elsewhere": its own coordinator, "address"} · {"refuse": why}

An agent that has not decided yet lets others wait; its beats tell them that it will.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from gonogo.agent.allowance import Allowance
from gonogo.agent.lead import SILENT_SECONDS, Lead, Line, Local, Member
from gonogo.agent.ports import Outcomes
from gonogo.agent.records import Writer
from gonogo.agent.sockets import Channel, Identity, Silence, ask
from gonogo.agent.spec import Spec

RETRY_SECONDS = 0.5


@dataclass
class Seat:
    """Where an agent ended up: its line to the coordinator, and the coordinator itself if that is here."""

    coordinator: str
    line: Line
    lead: Lead | None = None


class Join:
    """One agent's side of all its joins. `lost` holds the peers that are not tried again, and why."""

    def __init__(self, spec: Spec, me: Identity, writer: Writer, addresses: dict[str, str], outcomes: Outcomes,
                 allowance: Allowance) -> None:  # fmt: skip
        self.spec, self.me, self.writer = spec, me, writer
        self.addresses, self.outcomes, self.allowance = addresses, outcomes, allowance
        self.heard: set[str] = set()  # who reached this node's agent port
        self.lost: dict[str, str] = {}
        self.born = time.monotonic()
        self._seat: Seat | None = None
        self._admits = False
        self._arrived = asyncio.Event()
        self._members: dict[str, Member] = {}
        self._waiting: list[tuple[Channel, dict[str, Any]]] = []
        self._tried: list[dict[str, str]] = []
        self._deadline = 0.0

    async def visit(self, channel: Channel, message: dict[str, Any]) -> None:
        """A peer asks to join."""
        channel.start()
        if self._admits:
            await self._admit(channel, message)
        elif self._seat is not None and self._seat.lead is not None:
            await self._turn_away(channel, {"refuse": f"{self.me.node} started without it"})
        elif self._seat is not None:
            there = self._seat.coordinator
            await self._turn_away(channel, {"elsewhere": there, "address": self.addresses.get(there, "")})
        else:
            self._waiting.append((channel, message))

    async def _admit(self, channel: Channel, message: dict[str, Any]) -> None:
        name = channel.peer
        if name not in self.spec.peers or name in self._members:
            await self._turn_away(channel, {"refuse": f"there is a {name} already"})
            return
        self.lost.pop(name, None)
        self._members[name] = Member(
            name, channel, message.get("row", {}), str(message.get("address", "")), tuple(message.get("remaining", ()))
        )
        await channel.send({"welcome": self.me.node})
        self._arrived.set()

    async def _turn_away(self, channel: Channel, message: dict[str, Any]) -> None:
        await channel.send(message)
        channel.close()

    async def run(self, remaining: list[str]) -> Seat:
        """Join somebody or lead; always comes back within the step's limit, at worst with nobody but oneself."""
        started = time.monotonic()
        self._deadline = started + self.spec.step_seconds["join"] - 1.0
        self._seat, self._tried = None, []
        mine = self.spec.peers.index(self.me.node)
        seat = None
        for name in self.spec.peers[:mine]:
            if seat is None and name not in self.lost:
                seat = await self._try(name, remaining)
        seat = seat or await self._gather(remaining, self.spec.peers[mine + 1 :])
        self._seat = seat
        for channel, message in self._waiting:
            await self.visit(channel, message)
        self._waiting = []
        seconds = time.monotonic() - started
        if seat.lead is not None and len(seat.lead.present) == 1 < len(self.spec.peers):
            self.writer.write("join", "failed", tried=self._tried)
        self.writer.write("join", "joined", coordinator=seat.coordinator, seconds=seconds)
        return seat

    async def _try(self, name: str, remaining: list[str]) -> Seat | None:
        """Ask one peer until it says yes or no, or the time is over."""
        known = self.outcomes.get(name, {}).get(self.spec.agent_port, "")
        if not self.lost and known not in ("connected", "refused", "reset", "exhausted", ""):
            self._tried.append({"peer": name, "outcome": known})  # known for seconds, no use to wait for it again
            return None
        address = self.addresses.get(name, "")
        outcome = "name_unknown"
        while address and time.monotonic() < self._deadline:
            answer = await ask(self.me, name, address, self.spec.agent_port, self.spec.connect_seconds)
            outcome = answer.outcome
            if answer.sock is None:
                break
            channel = Channel(answer.sock, name, answer.rest)
            reply = await self._request(channel, remaining)
            if "welcome" in reply:
                return Seat(name, channel)
            channel.close()
            there = str(reply.get("elsewhere", ""))
            outcome = f"is with {there}" if there else str(reply.get("refuse", "stopped answering"))
            if there in self.spec.peers and there != self.me.node and not self.addresses.get(there):
                # its name is unknown here, its address is not: coordination needs no names
                name, address = there, str(reply.get("address", ""))
                self.addresses[there] = address
                continue
            if there not in self.lost:
                break
            await asyncio.sleep(RETRY_SECONDS)  # it will notice, too
        self._tried.append({"peer": name, "outcome": outcome})
        return None

    async def _request(self, channel: Channel, remaining: list[str]) -> dict[str, Any]:
        channel.start()
        row = {peer: {str(port): o for port, o in row.items()} for peer, row in self.outcomes.items()}
        mine = self.addresses.get(self.me.node, "")
        await channel.send({"join": self.me.node, "row": row, "address": mine, "remaining": remaining})
        try:
            wait = channel.next(SILENT_SECONDS)
            return await asyncio.wait_for(wait, max(0.1, self._deadline - time.monotonic())) or {}
        except Silence:
            return {"refuse": "silent"}
        except asyncio.TimeoutError:
            return {"refuse": "did not decide in time"}

    async def _gather(self, remaining: list[str], others: list[str]) -> Seat:
        """Admit members until all are there or the window closes; if nobody comes, try those behind oneself."""
        started = time.monotonic()
        here, there = Local.pair()
        row = {peer: {str(port): o for port, o in row.items()} for peer, row in self.outcomes.items()}
        mine = self.addresses.get(self.me.node, "")
        self._members = {self.me.node: Member(self.me.node, here, row, mine, tuple(remaining))}
        self._admits = True
        waiting, self._waiting = self._waiting, []
        for channel, message in waiting:
            await self._admit(channel, message)
        turned = False
        while not self._is_complete(started):
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), RETRY_SECONDS / 2)
            except asyncio.TimeoutError:
                alone = len(self._members) == 1 and time.monotonic() - started > self.spec.join_seconds / 4
                if alone and not turned:
                    turned = True
                    for name in others:
                        seat = await self._try(name, remaining) if name not in self.lost else None
                        if seat is not None and len(self._members) == 1:
                            self._admits = False
                            return seat
                        if seat is not None:  # somebody came meanwhile
                            seat.line.close()
                            break
        self._admits = False
        return Seat(self.me.node, there, self._lead(time.monotonic() - started))

    def _is_complete(self, started: float) -> bool:
        """All are here; or those known to live are, and the others had some time; or the window is over."""
        now, spec = time.monotonic(), self.spec
        awaited = [p for p in spec.peers if p not in self._members and p not in self.lost]
        if not awaited or now > self._deadline:
            return True
        # a peer that meets dropped packets takes this long until it asks to join
        slowest = self.born + spec.start_seconds + 2 * spec.connect_seconds + 1.0
        alive = [p for p in awaited if self._is_alive(p)]
        if alive or self.lost:
            return now > max(started + spec.join_seconds, slowest)
        window = spec.join_seconds if len(self._members) == 1 else spec.join_seconds / 2
        return now > started + window

    def _is_alive(self, peer: str) -> bool:
        return peer in self.heard or self.outcomes.get(peer, {}).get(self.spec.agent_port) == "connected"

    def _lead(self, window_seconds: float) -> Lead:
        missing = {
            peer: self.lost.get(peer) or self._absence(peer, window_seconds)
            for peer in self.spec.peers
            if peer not in self._members
        }
        entries = [{"peer": peer, "reason": reason} for peer, reason in missing.items()]
        present = [peer for peer in self.spec.peers if peer in self._members]
        self.writer.write("join", "roster", present=present, missing=entries, window_seconds=window_seconds)
        return Lead(self.spec, self.writer, self._members, missing, self.probe, self.allowance)

    def _absence(self, peer: str, window_seconds: float) -> str:
        outcome = self.outcomes.get(peer, {}).get(self.spec.agent_port, "not tried")
        if self._is_alive(peer):
            return f"answers, but did not join within {window_seconds:.1f} s"
        return f"did not join within {window_seconds:.1f} s; its agent port is {outcome}"

    async def probe(self, peer: str) -> str:
        """The outcome of a peer's agent port at this moment."""
        address = self.addresses.get(peer, "")
        if not address:
            return "name_unknown"
        answer = await ask(self.me, peer, address, self.spec.agent_port, self.spec.connect_seconds)
        answer.close()
        return answer.outcome
