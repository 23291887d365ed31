"""What answers peers: listeners on all ports, each for as long as it is needed; the agent's own for its whole life."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from gonogo.agent.records import Writer
from gonogo.agent.sockets import Channel, Identity, adopt, greet, listen

ACCEPT_PAUSE_SECONDS = 0.2

Visitor = Callable[[Channel, dict[str, Any]], Awaitable[None]]
"""Gets a peer that wants something after the hello, and what it said."""


class Listeners:
    """Greets whoever connects; `heard` gets the names of those that reach this node's agent port."""

    def __init__(
        self, me: Identity, writer: Writer, agent_port: int, visitor: Visitor, seconds: float, heard: set[str]
    ) -> None:
        self._heard = heard
        self._reached: dict[int, set[str]] = {}  # port -> who came there
        self._me = me
        self._writer = writer
        self._agent_port = agent_port
        self._visitor = visitor
        self._seconds = seconds
        self._open: dict[int, tuple[socket.socket, asyncio.Task[None]]] = {}
        self._guests: set[asyncio.Task[None]] = set()

    def open(self, port: int, role: str) -> None:
        """Listen on a port, and record whether that was possible."""
        try:
            sock = listen(self._me, port)
        except OSError as e:
            self._writer.write("ports", "listen", port=port, role=role, ok=False, error=f"{e.strerror} ({e.errno})")
            return
        self._reached[port] = set()
        self._open[port] = sock, asyncio.ensure_future(self._accept(port, sock))
        self._writer.write("ports", "listen", port=port, role=role, ok=True, error="")

    def reached_by(self, peers: Iterable[str]) -> bool:
        """Whether all of these have come to all ports that are open."""
        return all({*peers} <= self._reached[port] for port in self._open)

    def close(self, port: int) -> None:
        """Stop listening on a port, so that a framework can."""
        if port in self._open:
            sock, task = self._open.pop(port)
            task.cancel()
            asyncio.get_event_loop().remove_reader(sock)
            sock.close()

    async def _accept(self, port: int, sock: socket.socket) -> None:
        while True:
            try:
                guest, _ = await asyncio.get_running_loop().sock_accept(sock)
            except OSError:  # out of descriptors, or the guest has left already
                await asyncio.sleep(ACCEPT_PAUSE_SECONDS)
                continue
            task = asyncio.ensure_future(self._receive(port, adopt(guest)))
            self._guests.add(task)
            task.add_done_callback(self._guests.discard)

    async def _receive(self, port: int, guest: socket.socket) -> None:
        try:
            channel = await greet(self._me, guest, self._seconds)
        except OSError:  # left before it could be greeted
            guest.close()
            return
        if channel is None:
            return
        self._reached[port].add(channel.peer)
        if port == self._agent_port:
            self._heard.add(channel.peer)
        message = await channel.receive()  # a probe says nothing more: it closes when all its probes are done
        if message is None or port != self._agent_port:
            channel.close()
        else:
            await self._visitor(channel, message)
