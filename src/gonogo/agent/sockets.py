"""Sockets of the agent: listening, dialling, the hello that says who is there, and lines of JSON.

Server and client greet at once and wait for nobody, so that a program that is stopped (accepts and says nothing) and
one of another kind (says something else) look different:

    client  {"ask": run, "node": name}
    server  {"hello": run, "node": name, "seen_as": the client's address, "clock": seconds since 1970}
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import socket
import time
import weakref
from dataclasses import dataclass
from typing import Any

LINE_BYTES = 1 << 23
BEAT_SECONDS = 1.0
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS, errno.ENOMEM}
_OUTCOMES = {
    errno.ECONNREFUSED: "refused",
    errno.ECONNRESET: "reset",
    errno.EPIPE: "reset",
    errno.ETIMEDOUT: "silent",
    **dict.fromkeys(_EXHAUSTED, "exhausted"),
}
_IP_BIND_ADDRESS_NO_PORT = 24

_open: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _close_all() -> None:
    for sock in list(_open):
        sock.close()


# A framework child must not keep its dead agent's ports and connections open.
os.register_at_fork(after_in_child=_close_all)


@dataclass(frozen=True)
class Identity:
    """Who this agent is: the run, its node's name, and the loopback address it lives on ("" for a node of its own)."""

    run: str
    node: str
    loopback: str = ""


@dataclass
class Answer:
    """What came of dialling a port; `outcome` as in gonogo.agent.records, `sock` open only if it is `connected`."""

    outcome: str
    errno: int | None = None
    answered_by: str = ""
    seen_as: str = ""
    seconds: float = 0.0
    clock_offset: float | None = None
    sock: socket.socket | None = None
    rest: bytes = b""

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self.sock is not None:
            self.sock.close()


def new_socket(address: str) -> socket.socket:
    """A non-blocking TCP socket of the address's family."""
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    _open.add(sock)
    sock.setblocking(False)
    return sock


def adopt(sock: socket.socket) -> socket.socket:
    """Prepare an accepted connection as new_socket and dial prepare theirs."""
    _open.add(sock)
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def listen(me: Identity, port: int) -> socket.socket:
    """Listen on a port: of all addresses, or of this agent's loopback address. Raises OSError."""
    address = me.loopback or ("::" if _has_ipv6() else "0.0.0.0")
    sock = new_socket(address)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if address == "::":
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind((address, port))
        sock.listen(1024)
    except OSError:
        sock.close()
        raise
    return sock


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as sock:
            sock.bind(("::", 0))
    except OSError:
        return False
    return True


async def dial(me: Identity, address: str, port: int, seconds: float) -> socket.socket:
    """Connect. Raises OSError; asyncio.TimeoutError if there is no answer at all."""
    sock = new_socket(address)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if me.loopback and address.startswith("127."):
            sock.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
            sock.bind((me.loopback, 0))
        await asyncio.wait_for(asyncio.get_running_loop().sock_connect(sock, (address, port)), seconds)
    except BaseException:
        sock.close()
        raise
    return sock


async def ask(me: Identity, peer: str, address: str, port: int, seconds: float) -> Answer:
    """Dial a port and ask who is there; connecting and answering may take `seconds` each."""
    started = time.monotonic()
    try:
        sock = await dial(me, address, port, seconds)
    except asyncio.TimeoutError:
        return Answer("silent", seconds=time.monotonic() - started)
    except OSError as e:
        return Answer(outcome_of(e), e.errno, seconds=time.monotonic() - started)
    answer = await _greeting(me, peer, sock, seconds)
    answer.seconds = time.monotonic() - started
    if answer.outcome == "connected":
        answer.sock = sock
    else:
        sock.close()
    return answer


async def _greeting(me: Identity, peer: str, sock: socket.socket, seconds: float) -> Answer:
    loop = asyncio.get_running_loop()
    sent = time.time()
    data = b""
    try:
        await loop.sock_sendall(sock, _line({"ask": me.run, "node": me.node}))
        deadline = time.monotonic() + seconds
        while b"\n" not in data and len(data) < 4096:
            chunk = await asyncio.wait_for(loop.sock_recv(sock, 4096), max(0.0, deadline - time.monotonic()))
            if not chunk:
                return _stranger(data) if data else Answer("reset")
            data += chunk
    except asyncio.TimeoutError:
        return _stranger(data) if data else Answer("mute")
    except OSError as e:
        return Answer(outcome_of(e), e.errno)
    line, _, rest = data.partition(b"\n")
    hello = _parse(line)
    if "hello" not in hello:
        return _stranger(data)
    offset = float(hello.get("clock", 0.0)) - (sent + time.time()) / 2
    name = str(hello.get("node", ""))
    outcome = "connected" if hello["hello"] == me.run and name == peer else "stranger"
    by = name if hello["hello"] == me.run else f"{name} of another run"
    return Answer(outcome, None, by, str(hello.get("seen_as", "")), clock_offset=offset, rest=rest)


def _stranger(data: bytes) -> Answer:
    return Answer("stranger", answered_by=f"a program that said {data[:40]!r}")


def outcome_of(error: OSError) -> str:
    """The word for a failed connection; what has no word of its own is `unreachable`, with its errno beside it."""
    return _OUTCOMES.get(error.errno or 0, "unreachable")


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _parse(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


class Channel:
    """Messages, a line of JSON each, to and from one peer, with a beat a second so that silence means something."""

    def __init__(self, sock: socket.socket, peer: str = "", rest: bytes = b"") -> None:
        self.sock = sock
        self.peer = peer
        self.heard = time.monotonic()
        self._buffer = rest
        self._ended = False
        self._sending = asyncio.Lock()
        self._inbox: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []

    async def send(self, message: dict[str, Any]) -> None:
        """Send one message. A connection that is gone swallows it: receiving tells of it."""
        try:
            async with self._sending:
                await asyncio.get_running_loop().sock_sendall(self.sock, _line(message))
        except OSError:
            self._ended = True

    async def receive(self) -> dict[str, Any] | None:
        """The next message straight from the connection, beats left out; None when it has ended."""
        while True:
            line, newline, rest = self._buffer.partition(b"\n")
            if newline:
                self._buffer = rest
                message = _parse(line)
                if message and "beat" not in message:
                    return message
                continue
            try:
                data = await asyncio.get_running_loop().sock_recv(self.sock, 1 << 16)
            except OSError:
                data = b""
            if not data or len(self._buffer) > LINE_BYTES:
                self._ended = True
                return None
            self.heard = time.monotonic()
            self._buffer += data

    def start(self) -> None:
        """Beat, and listen for the peer's beats, from now on; messages then wait for next()."""
        if not self._tasks:
            self._tasks = [asyncio.ensure_future(self._beat()), asyncio.ensure_future(self._read())]

    async def next(self, patience_seconds: float = float("inf")) -> dict[str, Any] | None:
        """The next message; None when the connection has ended. Raises Silence when not even a beat comes."""
        while True:
            with contextlib.suppress(asyncio.TimeoutError):
                return await asyncio.wait_for(self._inbox.get(), BEAT_SECONDS / 2)
            if self.silent_seconds > patience_seconds:
                raise Silence(f"nothing came from {self.peer} for {self.silent_seconds:.1f} s")

    async def _beat(self) -> None:
        while not self._ended:
            await self.send({"beat": 1})
            await asyncio.sleep(BEAT_SECONDS)

    async def _read(self) -> None:
        message: dict[str, Any] | None = {}
        while message is not None:
            message = await self.receive()
            self._inbox.put_nowait(message)

    @property
    def silent_seconds(self) -> float:
        """How long nothing has come, beats included."""
        return time.monotonic() - self.heard

    def close(self) -> None:
        """End the connection."""
        self._ended = True
        for task in self._tasks:
            task.cancel()
        asyncio.get_event_loop().remove_reader(self.sock)
        self.sock.close()


class Silence(Exception):
    """A peer's connection stands, but nothing comes any more."""


async def greet(me: Identity, sock: socket.socket, seconds: float) -> Channel | None:
    """The server's side of the hello; None if a program that is not of this run is there."""
    channel = Channel(sock)
    seen_as = sock.getpeername()[0].removeprefix("::ffff:")
    await channel.send({"hello": me.run, "node": me.node, "seen_as": seen_as, "clock": time.time()})
    with contextlib.suppress(asyncio.TimeoutError):
        greeting = await asyncio.wait_for(channel.receive(), seconds)
        if greeting is not None and greeting.get("ask") == me.run:
            channel.peer = str(greeting.get("node", ""))
            return channel
    channel.close()
    return None
