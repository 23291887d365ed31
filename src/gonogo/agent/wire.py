"""Measuring on one connection: both ends take turns, step by step, so that each knows what the other does.

Calls here hold the thread for at most BURST_SECONDS: long enough that a healthy answer costs no detour through the
event loop, which would be part of what is measured; short enough for the heart to beat.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

BURST_SECONDS = 0.02
STALL_SECONDS = 2.0
GRACE_SECONDS = 0.5
SLOWEST_BITS_PER_SECOND = 2e6
"""A message may take STALL_SECONDS, and what it takes at this rate: slow is not lost."""
PING_BYTES = 64
PINGS = 300
PING_SECONDS = 0.5
CHUNK_BYTES = 1 << 19
SLICES = 10
_MORE, _LAST = b"\x01", b"\x00"
_CHUNK_HEAD = struct.Struct("!cQ")
"""Whether more chunks follow, and how long the sender has waited for a CPU so far, in ns."""


class Stalled(Exception):
    """Nothing moved for STALL_SECONDS, or a whole message was not acknowledged in time."""


class Gone(Exception):
    """The peer closed the connection."""


@dataclass(frozen=True)
class TcpInfo:
    """What the kernel says of a connection; bytes, and how many segments it sent again so far."""

    mss: int
    pmtu: int
    retransmits: int

    @classmethod
    def of(cls, sock: socket.socket) -> TcpInfo:
        """Offsets as in struct tcp_info of linux/tcp.h, which only ever grows at its end."""
        data = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        mss, pmtu, retransmits = (struct.unpack_from("I", data, at)[0] for at in (16, 60, 100))
        return cls(mss, pmtu, retransmits)


@dataclass(frozen=True)
class Rate:
    """What a receiver saw: all bytes and seconds, and the rate after the first slice, in which TCP finds its pace.

    `waits` is, slice by slice, the share of time in which one of both ends could have worked and had no CPU.
    """

    bytes: int
    seconds: float
    gbps: float
    slices: list[float]
    waits: list[float]
    retransmits: int


class CpuQueue:
    """How long this thread has been ready to run without running: the second number of its schedstat."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd

    @classmethod
    @contextlib.contextmanager
    def of_this_thread(cls) -> Iterator[CpuQueue]:
        """Where the kernel keeps no such count the queue always says 0."""
        try:
            fd = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        except OSError:
            yield cls(None)
            return
        try:
            yield cls(fd)
        finally:
            os.close(fd)

    def waited_ns(self) -> int:
        """Since the thread began."""
        return int(os.pread(self._fd, 64, 0).split()[1]) if self._fd is not None else 0


def message_seconds(size: int) -> float:
    """How long a message and its acknowledgement may take."""
    return STALL_SECONDS + size * 8 / SLOWEST_BITS_PER_SECOND


class Wire:
    """One end of a connection that is measured. All raise Stalled, Gone or OSError."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._poll = select.poll()
        self._buffer = memoryview(bytearray(CHUNK_BYTES))

    async def _ready(self, event: int, deadline: float) -> None:
        """Wait until the socket can be read or written; other work of the agent goes on meanwhile."""
        self._poll.register(self.sock, event)
        while not self._poll.poll(BURST_SECONDS * 1000):
            if time.monotonic() > deadline:
                raise Stalled
            await asyncio.sleep(0)

    async def send(self, data: bytes | memoryview, seconds: float) -> None:
        """Send all of it within that time."""
        deadline, view = time.monotonic() + seconds, memoryview(data)
        while view:
            try:
                view = view[self.sock.send(view) :]
            except BlockingIOError:
                await self._ready(select.POLLOUT, deadline)

    async def receive(self, size: int, seconds: float) -> memoryview:
        """Receive so many bytes within that time; the view is valid until the next call. A big message is not kept."""
        deadline, got = time.monotonic() + seconds, 0
        while got < size:
            at = got % CHUNK_BYTES
            try:
                n = self.sock.recv_into(self._buffer[at : min(CHUNK_BYTES, at + size - got)])
            except BlockingIOError:
                await self._ready(select.POLLIN, deadline)
                continue
            if n == 0:
                raise Gone
            got += n
        return self._buffer[: min(size, CHUNK_BYTES)]

    async def send_message(self, size: int) -> float:
        """A message of that size, acknowledged; the seconds that it took."""
        started = time.monotonic()
        await self.send(bytes(size), message_seconds(size))
        await self.receive(1, message_seconds(size) - (time.monotonic() - started))
        return time.monotonic() - started

    async def receive_message(self, size: int) -> None:
        """The other side of send_message."""
        # longer than the sender waits, so that it is the sender who gives up and says so
        await self.receive(size, message_seconds(size) + GRACE_SECONDS)
        await self.send(_LAST, STALL_SECONDS)

    async def ping(self) -> list[float]:
        """Round trips of small messages, in seconds, sorted: up to PINGS of them in up to PING_SECONDS."""
        times: list[float] = []
        until = time.monotonic() + PING_SECONDS
        more = True
        while more:
            started = time.perf_counter()
            more = len(times) + 1 < PINGS and time.monotonic() < until
            await self.send((_MORE if more else _LAST) + bytes(PING_BYTES - 1), STALL_SECONDS)
            await self.receive(PING_BYTES, STALL_SECONDS)
            times.append(time.perf_counter() - started)
        return sorted(times)

    async def pong(self) -> None:
        """The other side of ping."""
        more = True
        while more:
            data = await self.receive(PING_BYTES, STALL_SECONDS)
            more = data[0] == _MORE[0]
            await self.send(data, STALL_SECONDS)

    async def stream(self, seconds: float) -> None:
        """Send as much as goes for that time, then how many segments had to be sent again."""
        before = TcpInfo.of(self.sock).retransmits
        until = breath = time.monotonic() + seconds
        breath -= seconds
        chunk, more = bytearray(CHUNK_BYTES), True
        with CpuQueue.of_this_thread() as queue:
            while more:
                more = time.monotonic() < until
                _CHUNK_HEAD.pack_into(chunk, 0, _MORE if more else _LAST, queue.waited_ns())
                await self._send_chunk(memoryview(chunk))
                if time.monotonic() - breath > BURST_SECONDS:
                    await asyncio.sleep(0)
                    breath = time.monotonic()
        await self.send(struct.pack("!I", TcpInfo.of(self.sock).retransmits - before), STALL_SECONDS)

    async def _send_chunk(self, view: memoryview) -> None:
        """Send a chunk, however slowly, as long as some of it moves."""
        while view:
            try:
                view = view[self.sock.send(view) :]
            except BlockingIOError:
                await self._ready(select.POLLOUT, time.monotonic() + STALL_SECONDS)

    async def drain(self, seconds: float) -> Rate:
        """The other side of stream: what comes in, and how fast, slice by slice."""
        marks: list[_Mark] = []
        total, at, more, theirs = 0, 0, True, 0
        breath = 0.0
        with CpuQueue.of_this_thread() as queue:
            while more:
                try:
                    n = self.sock.recv_into(self._buffer[at:])
                except BlockingIOError:
                    await self._ready(select.POLLIN, time.monotonic() + STALL_SECONDS)
                    continue
                if n == 0:
                    raise Gone
                now = time.monotonic()
                total, at = total + n, at + n
                if at == CHUNK_BYTES:
                    flag, theirs = _CHUNK_HEAD.unpack_from(self._buffer)
                    at, more = 0, flag == _MORE
                if not marks or now - marks[-1].at >= seconds / SLICES:
                    marks.append(_Mark(now, total, queue.waited_ns(), theirs))
                if now - breath > BURST_SECONDS:
                    await asyncio.sleep(0)
                    breath = time.monotonic()
            marks.append(_Mark(time.monotonic(), total, queue.waited_ns(), theirs))
        retransmits = struct.unpack("!I", await self.receive(4, STALL_SECONDS))[0]
        return _rate(marks, retransmits, seconds / SLICES)


@dataclass(frozen=True)
class _Mark:
    """Where a receiver stood: bytes so far, and how long it and its sender had waited for a CPU."""

    at: float
    bytes: int
    own_ns: int
    theirs_ns: int

    def gbps_until(self, end: _Mark) -> float:
        return (end.bytes - self.bytes) * 8e-9 / (end.at - self.at) if end.at > self.at else 0.0

    def wait_until(self, end: _Mark) -> float:
        """As a share of the time: of both ends the one that waited longer."""
        waited = max(end.own_ns - self.own_ns, end.theirs_ns - self.theirs_ns if self.theirs_ns else 0)
        return min(1.0, waited * 1e-9 / (end.at - self.at)) if end.at > self.at else 0.0


def _rate(marks: list[_Mark], retransmits: int, slice_seconds: float) -> Rate:
    steady = marks[1:] if len(marks) > 2 else marks
    pairs = list(pairwise(steady))
    if len(pairs) > 1 and steady[-1].at - steady[-2].at < slice_seconds / 2:
        pairs.pop()  # too short to say anything
    slices = [round(a.gbps_until(b), 4) for a, b in pairs if b.at > a.at]
    waits = [round(a.wait_until(b), 3) for a, b in pairs if b.at > a.at]
    gbps = steady[0].gbps_until(marks[-1])
    return Rate(marks[-1].bytes, marks[-1].at - marks[0].at, gbps, slices, waits, retransmits)


def percentile(ordered: list[float], share: float) -> float:
    """Of sorted values the one below which that share lies."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")
