"""Names to addresses, in a child process: the C library's resolver blocks, and nothing can interrupt it but a kill."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import os
import signal
import socket
import threading
import time
from dataclasses import dataclass

RETRY_SECONDS = 0.3
DOWN_SECONDS = 15.0
"""For so long without any answer (not "no such name"), the resolver is taken to be down: no peer's start mends that."""
UNANSWERED = "the resolver gave no answer within {:.0f} s"


@dataclass(frozen=True)
class Resolved:
    """What a name resolves to on this node, IPv4 first; `error` is the resolver's text, or "" where it answered."""

    name: str
    addresses: tuple[str, ...]
    error: str
    seconds: float

    @property
    def address(self) -> str:
        """The address to dial, "" if there is none."""
        return self.addresses[0] if self.addresses else ""


def is_address(name: str) -> bool:
    """Whether this is an address already, so that no resolver is asked."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Resolver:
    """Resolves names side by side; a name that is unknown is asked for again until `patience_seconds` are over.

    `await of(name)` always comes back: at the latest `limit_seconds` after the start, with an error.
    """

    def __init__(self, names: list[str], patience_seconds: float, limit_seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit_seconds = limit_seconds
        self._started = time.monotonic()
        self._answers: dict[str, asyncio.Future[Resolved]] = {name: self._loop.create_future() for name in names}
        for name in filter(is_address, self._answers):
            self._answers[name].set_result(Resolved(name, (name,), "", 0.0))
        asked = [name for name, answer in self._answers.items() if not answer.done()]
        self._pid = 0
        if asked:
            self._pid, self._pipe = _fork(asked, patience_seconds, limit_seconds)
            self._buffer = b""
            self._loop.add_reader(self._pipe, self._read)
            self._timer = self._loop.call_later(limit_seconds, self.close)

    async def of(self, name: str) -> Resolved:
        """What the name resolves to."""
        return await self._answers[name]

    def _read(self) -> None:
        data = os.read(self._pipe, 1 << 16)
        if not data:
            self.close()
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            name, addresses, error, seconds = json.loads(line)
            self._answers[name].set_result(Resolved(name, tuple(addresses), error, seconds))

    def close(self) -> None:
        """End the child; names without an answer get their error now."""
        if self._pid:
            self._timer.cancel()
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0
        spent = time.monotonic() - self._started
        for name, answer in self._answers.items():
            if not answer.done():
                answer.set_result(Resolved(name, (), UNANSWERED.format(self._limit_seconds), spent))


def _fork(names: list[str], patience_seconds: float, limit_seconds: float) -> tuple[int, int]:
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid:
        os.close(theirs)
        return pid, ours
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(limit_seconds) + 2)  # should the agent die, this child does not outlive it for long
        lock = threading.Lock()
        threads = [threading.Thread(target=_ask, args=(n, patience_seconds, theirs, lock)) for n in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        os._exit(0)


def _ask(name: str, patience_seconds: float, pipe: int, lock: threading.Lock) -> None:
    answered = started = time.monotonic()
    while True:
        addresses, error = lookup(name)
        now = time.monotonic()
        if f"(error {socket.EAI_AGAIN})" not in error:
            answered = now
        if addresses or now - started + RETRY_SECONDS > patience_seconds or now - answered > DOWN_SECONDS:
            break
        time.sleep(RETRY_SECONDS)  # a peer's name appears when its pod has an address
    line = json.dumps([name, addresses, error, time.monotonic() - started]).encode() + b"\n"
    with lock:
        os.write(pipe, line)


def lookup(name: str) -> tuple[list[str], str]:
    """Addresses of a name, IPv4 first, and the resolver's text if there are none. Blocks."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError as e:  # gaierror is one
        return [], f"{e.strerror} (error {e.errno})"
    except UnicodeError as e:
        return [], f"not a host name: {e}"
    found.sort(key=lambda f: f[0] != socket.AF_INET)
    return list(dict.fromkeys(str(f[4][0]) for f in found)), ""
