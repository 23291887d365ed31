"""One pair of nodes in step `links`: messages of growing size, latency, throughput, each in both directions.

One side dials and says what will be done on the connection, a list that both then work through:

    {"pair": node, "todo": [["message", bytes, "out"], ["message", bytes, "in"], ["latency", 0, "out"], …]}

`out` is from the one who dials. Where something gets stuck both give up that connection, and the one who dialled opens
another for what is left: the direction that failed is not tried again, the other one is.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from gonogo.agent.records import Writer
from gonogo.agent.sockets import Channel, Identity, ask, outcome_of
from gonogo.agent.spec import Spec
from gonogo.agent.wire import STALL_SECONDS, Gone, Stalled, TcpInfo, Wire, percentile

MESSAGE_BYTES = (64, 1400, 8000, 1 << 16, 1 << 20)
"""Below and above what an Ethernet of 1500 and one of 9001 carries in one packet, and what needs many."""

Item = list[Any]  # kind, bytes, direction
Message = dict[str, Any]


def todo_of(phase: int) -> list[Item]:
    """All that is measured; the second time only throughput."""
    both = ("out", "in")
    items: list[Item] = [["throughput", 0, way] for way in both]
    if phase == 1:
        items = [
            *(["message", n, way] for n in MESSAGE_BYTES for way in both),
            *(["latency", 0, w] for w in both),
            *items,
        ]
    return items


def pair_seconds(spec: Spec) -> float:
    """The most that one pair may cost, whatever becomes of it."""
    return 2 * spec.connect_seconds + 2 * spec.slice_seconds + 5 * STALL_SECONDS


class Pairs:
    """This node's end of all its pairs; a connection that served well is kept for the next time."""

    def __init__(self, spec: Spec, me: Identity, writer: Writer) -> None:
        self._spec, self._me, self._writer = spec, me, writer
        self._kept: dict[str, Channel] = {}
        self._arrived: dict[str, asyncio.Queue[tuple[Channel, list[Item]]]] = {}

    def arrive(self, channel: Channel, message: Message) -> None:
        """A peer dialled this node to be measured."""
        self._queue(channel.peer).put_nowait((channel, message.get("todo", [])))

    def _queue(self, peer: str) -> asyncio.Queue[tuple[Channel, list[Item]]]:
        return self._arrived.setdefault(peer, asyncio.Queue())

    async def measure(self, command: Message) -> Message:
        """Measure one pair as the coordinator ordered; returns what came in from the peer, or why nothing did."""
        turn = _Turn(self._spec, self._me, self._writer, command)
        if "outcome" in command:  # neither reaches the other, and that is known already
            turn.error(command["outcome"], "the ports step found no way to connect")
        else:
            limit = pair_seconds(self._spec)
            try:
                await asyncio.wait_for(self._dial(turn) if command["dial"] else self._answer(turn), limit)
            except asyncio.TimeoutError:
                turn.error("silent", f"not done after {limit:.1f} s")
        return {"rate": turn.rate, "errors": turn.errors}

    async def _dial(self, turn: _Turn) -> None:
        todo = todo_of(turn.phase)
        while todo:
            channel = self._kept.pop(turn.peer, None)
            fresh = channel is None
            if channel is None:
                spec = self._spec
                answer = await ask(self._me, turn.peer, turn.address, spec.agent_port, spec.connect_seconds)
                if answer.sock is None:
                    turn.error(answer.outcome, "no connection")
                    return
                channel = Channel(answer.sock, turn.peer, answer.rest)
            if await self._agree(channel, todo):
                todo = await turn.work(channel, todo, dialled=True)
                self._keep(channel, turn)
                continue
            channel.close()
            if fresh:
                turn.error("mute", f"{turn.peer} did not begin")
                return

    async def _agree(self, channel: Channel, todo: list[Item]) -> bool:
        """Say what is to be done and wait until the peer is ready: lines end here, for both, before raw bytes begin."""
        await channel.send({"pair": self._me.node, "todo": todo})
        try:
            ready = await asyncio.wait_for(channel.receive(), 2 * self._spec.connect_seconds + 1.0)
        except asyncio.TimeoutError:
            return False
        if ready is not None:
            await Wire(channel.sock).send(b".", STALL_SECONDS)
        return ready is not None

    async def _answer(self, turn: _Turn) -> None:
        """Serve connections until one has been worked through, or the peer comes no more."""
        patience = 2 * self._spec.connect_seconds + 1.0
        todo: list[Item] = [["wait"]]
        while todo:
            channel, todo = await self._next(turn.peer, patience)
            if channel is None:
                if not turn.errors:
                    turn.error("silent", f"{turn.peer} did not come within {patience:.1f} s")
                return
            await channel.send({"ready": self._me.node})
            todo = await turn.work(channel, [["begin", 1, "out"], *todo], dialled=False)
            self._keep(channel, turn)
            patience = STALL_SECONDS + self._spec.connect_seconds

    async def _next(self, peer: str, seconds: float) -> tuple[Channel | None, list[Item]]:
        """The next connection to work on: the kept one, if the peer uses that again, or a new one."""
        arrival = asyncio.ensure_future(self._queue(peer).get())
        kept = self._kept.pop(peer, None)
        again = asyncio.ensure_future(kept.receive()) if kept else None
        waiting: set[asyncio.Future[Any]] = {arrival, again} if again else {arrival}
        done, pending = await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        if kept and again in done and (message := again.result()):
            return kept, list(message.get("todo", []))
        if arrival in done:
            return arrival.result()
        return None, []

    def _keep(self, channel: Channel, turn: _Turn) -> None:
        if turn.stuck:
            channel.close()
        else:
            self._kept[turn.peer] = channel


class _Turn:
    """One pair's turn: works through the list, writes the records."""

    def __init__(self, spec: Spec, me: Identity, writer: Writer, command: Message) -> None:
        self.peer, self.phase, self.round = command["peer"], command["phase"], command["round"]
        self.address = command.get("address", "")
        self.rate: Message = {}
        self.errors: list[str] = []
        self.stuck = False
        self._seconds = spec.slice_seconds
        self._writer = writer
        self._started = self._item_started = time.monotonic()

    def error(self, outcome: str, text: str) -> None:
        """Why this pair can't be measured, or not further."""
        self.errors.append(outcome)
        self._writer.write(
            "links", "error", peer=self.peer, phase=self.phase, outcome=outcome,
            seconds=time.monotonic() - self._started, error=text,
        )  # fmt: skip

    async def work(self, channel: Channel, todo: list[Item], dialled: bool) -> list[Item]:
        """Do all on the list; returns what is left for another connection, nothing if all went well."""
        wire, self.stuck = Wire(channel.sock), False
        for position, (kind, size, way) in enumerate(todo):
            sending = (way == "out") == dialled
            self._item_started = time.monotonic()
            try:
                await self._one(wire, kind, size, sending)
            except (Stalled, Gone, OSError) as e:
                self._failed(wire, kind, size, sending, e)
                self.stuck = True
                return [item for item in todo[position + 1 :] if item[2] != way and item[0] == "message"]
        return []

    async def _one(self, wire: Wire, kind: str, size: int, sending: bool) -> None:
        if kind == "message":
            await (self._send_message(wire, size) if sending else wire.receive_message(size))
        elif kind == "latency":
            await (self._ping(wire) if sending else wire.pong())
        elif kind == "begin":
            await wire.receive(1, STALL_SECONDS)
        elif kind == "throughput":
            await (wire.stream(self._seconds) if sending else self._drain(wire))

    async def _send_message(self, wire: Wire, size: int) -> None:
        before = TcpInfo.of(wire.sock).retransmits
        seconds = await wire.send_message(size)
        self._message(wire, size, ok=True, seconds=seconds, before=before, error="")

    def _message(self, wire: Wire, size: int, ok: bool, seconds: float, before: int, error: str) -> None:
        info = TcpInfo.of(wire.sock)
        self._writer.write(
            "links", "message", peer=self.peer, bytes=size, ok=ok, seconds=seconds, mss=info.mss, pmtu=info.pmtu,
            retransmits=info.retransmits - before, error=error,
        )  # fmt: skip

    async def _ping(self, wire: Wire) -> None:
        times = await wire.ping()
        p50, p99 = percentile(times, 0.5), percentile(times, 0.99)
        self._writer.write("links", "latency", peer=self.peer, samples=len(times), p50_seconds=p50, p99_seconds=p99)

    async def _drain(self, wire: Wire) -> None:
        rate = await wire.drain(self._seconds)
        self.rate = {"gbps": rate.gbps, "slices": rate.slices, "waits": rate.waits}
        self._writer.write(
            "links", "throughput", peer=self.peer, round=self.round, phase=self.phase, bytes=rate.bytes,
            seconds=rate.seconds, gbps=rate.gbps, slices=rate.slices, waits=rate.waits,
            retransmits=rate.retransmits,
        )  # fmt: skip

    def _failed(self, wire: Wire, kind: str, size: int, sending: bool, error: Exception) -> None:
        """The sender tells of its direction; the receiver has only seen nothing come."""
        outcome = "silent" if isinstance(error, Stalled) else "reset" if isinstance(error, Gone) else "unreachable"
        outcome = outcome_of(error) if isinstance(error, OSError) else outcome
        text = "timeout" if isinstance(error, Stalled) else outcome
        if kind == "message" and sending:
            self._message(wire, size, ok=False, seconds=time.monotonic() - self._item_started, before=0, error=text)
        what = f"a message of {size} bytes" if kind == "message" else kind
        if sending:
            self.error(outcome, f"{what} to {self.peer} was not acknowledged: {text}")
        elif kind == "throughput":
            self.error(outcome, f"{kind} from {self.peer} broke off: {text}")
