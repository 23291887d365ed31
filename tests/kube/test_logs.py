"""Pods' logs are followed over breaks of the API server, and whose can't be heard for that reason is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx2 as httpx

from gonogo.clients.kube import Cluster
from gonogo.collect.kube_logs import Logs


class Broken(httpx.SyncByteStream):
    """A body that ends in the middle."""

    def __init__(self, text: bytes) -> None:
        self.text = text

    def __iter__(self) -> Iterator[bytes]:
        yield self.text
        raise httpx.ReadError("reset by peer")


def test_a_node_is_unheard_from_the_first_refused_call_to_its_next_line() -> None:
    unheard: list[set[int]] = []

    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    answers: list[Callable[[httpx.Request], httpx.Response]] = [
        lambda request: httpx.Response(200, stream=Broken(b"one\ntwo\n")),
        gone,
        gone,
        lambda request: httpx.Response(200, stream=Broken(b"one\ntwo\n")),  # nothing new
        lambda request: httpx.Response(200, text="one\ntwo\nthree\n"),
        gone,
        lambda request: httpx.Response(500, json={"kind": "Status", "message": "dial tcp 10.0.0.7:10250: no route"}),
        lambda request: httpx.Response(404, json={"kind": "Status", "message": "no such pod"}),
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        unheard.append(set(logs.unheard))
        return answers.pop(0)(request)

    http = httpx.Client(base_url="https://api", transport=httpx.MockTransport(answer))
    logs = Logs(Cluster(http, "eks", "ml", 1), "ml")
    logs._stopped.wait = lambda timeout=None: False  # type: ignore[method-assign]
    logs._follow(0, "train-0")
    assert unheard == [set(), set(), {0}, {0}, {0}, set(), {0}, set()]
    told = []
    while not logs.lines.empty():
        told.append(logs.lines.get(timeout=1))
    assert told == [(0, b"one"), (0, b"two"), (0, b"three")]
