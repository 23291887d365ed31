"""The client against an API server made of a function: paging, retries, and errors that say what to do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import httpx2 as httpx
import pytest

from gonogo.clients.kube import (
    JOBS,
    NODES,
    PODS,
    Cluster,
    Forbidden,
    KubeError,
    NotFound,
    Object,
    Unauthorized,
    Unreachable,
)
from gonogo.launch.manifests import RUN_LABEL
from gonogo.launch.pods import gone


def cluster(answer: Callable[[httpx.Request], httpx.Response], tries: int = 3) -> Cluster:
    http = httpx.Client(base_url="https://api", transport=httpx.MockTransport(answer))
    return Cluster(http, "test", "default", tries)


def status(code: int, message: str = "", **more: object) -> httpx.Response:
    return httpx.Response(code, json={"kind": "Status", "code": code, "message": message, **more})


def test_pages_are_followed_to_the_end() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        at = int(request.url.params.get("continue") or 0)
        items = [{"metadata": {"name": f"n{i}"}} for i in range(at, min(at + 2, 5))]
        following = str(at + 2) if at + 2 < 5 else ""
        return httpx.Response(200, json={"items": items, "metadata": {"continue": following, "resourceVersion": "7"}})

    pages = list(cluster(answer).pages(NODES, limit=2))
    assert [[json.loads(i)["metadata"]["name"] for i in page] for page, _ in pages] == [
        ["n0", "n1"],
        ["n2", "n3"],
        ["n4"],
    ]
    assert pages[-1][1] == "7"


def test_token_that_grew_old_is_replaced_by_the_one_offered() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        token = request.url.params.get("continue") or ""
        asked.append(token)
        if token == "old":
            return status(410, "too old", metadata={"continue": "fresh"})
        return httpx.Response(200, json={"items": [{}], "metadata": {"continue": "" if token else "old"}})

    assert len(list(cluster(answer).pages(NODES))) == 2
    assert asked == ["", "old", "fresh"]


def test_transient_failures_are_tried_again_and_others_are_not() -> None:
    codes = iter([503, 429, 200])
    served: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        code = next(codes)
        served.append(code)
        return httpx.Response(200, json={"gitVersion": "v1"}) if code == 200 else status(code, "busy")

    assert cluster(answer).raw("/version")["gitVersion"] == "v1"
    assert served == [503, 429, 200]
    calls: list[int] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        calls.append(1)
        return status(403, 'nodes is forbidden: User "u" cannot list resource "nodes"')

    with pytest.raises(Forbidden) as caught:
        list(cluster(refuse).pages(NODES))
    assert (caught.value.verb, caught.value.resource, len(calls)) == ("list", "nodes", 1)
    assert str(caught.value).startswith("Forbidden: list nodes")


@pytest.mark.parametrize(("code", "kind"), [(401, Unauthorized), (404, NotFound), (409, KubeError), (500, KubeError)])
def test_errors_have_types(code: int, kind: type[KubeError]) -> None:
    with pytest.raises(kind) as caught:
        cluster(lambda request: status(code, "no"), tries=1).get(JOBS, "x")
    assert caught.value.code == code


def test_a_server_that_is_not_there_is_unreachable() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("Connection refused")

    with pytest.raises(Unreachable, match="cannot be reached: Connection refused"):
        cluster(answer, tries=1).raw("/version")


def test_secrets_of_an_address_are_not_shown() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.password == "hunter2"
        raise httpx.ConnectError("no way through http://me:hunter2@proxy:3128")

    http = httpx.Client(base_url="https://me:hunter2@api/x?token=hunter2", transport=httpx.MockTransport(answer))
    asked = Cluster(http, "c", "n", tries=1)
    with pytest.raises(Unreachable) as caught:
        asked.raw("/version")
    assert "hunter2" not in f"{asked.server} {caught.value}"


def test_answers_that_are_no_json_are_errors_of_one_line() -> None:
    with pytest.raises(KubeError, match="<html>proxy</html>"):
        cluster(lambda request: httpx.Response(502, text="<html>proxy</html>"), tries=1).get(PODS, "x")


def test_lines_of_a_log_are_whole_whatever_the_chunks() -> None:
    def chunks() -> object:
        yield from (b"one\ntw", b"o\n", b"thr", b"ee")

    found = cluster(lambda request: httpx.Response(200, content=chunks())).logs("p", "n")  # type: ignore[arg-type]
    assert list(found) == [b"one", b"two", b"three"]


def test_a_watch_passes_on_events_and_raises_what_it_is_told() -> None:
    lines = [{"type": "ADDED", "object": {"metadata": {"name": "a"}}}, {"type": "ERROR", "object": {"code": 410}}]
    body = "\n".join(json.dumps(line) for line in lines)
    events = cluster(lambda request: httpx.Response(200, text=body)).watch(PODS, "n")
    assert next(events) == ("ADDED", {"metadata": {"name": "a"}})
    with pytest.raises(KubeError):
        next(events)


def a_pod(name: str, node: str) -> Object:
    meta = {"name": name, "namespace": "train", "labels": {RUN_LABEL: "r"}, "deletionTimestamp": "2026-11-30T10:00:00Z"}
    return {"metadata": meta, "spec": {"nodeName": node}}


@pytest.mark.parametrize(("ready", "seconds"), [("Unknown", 30.0), ("True", 3.0)])
def test_a_pod_whose_node_is_gone_is_not_waited_for(ready: str, seconds: float) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        items: list[Object] = []
        if request.url.path.endswith("/pods"):
            items = [a_pod("gonogo-r-1-x", "node-1")]
        elif request.url.path.endswith("/nodes"):
            assert request.url.params["fieldSelector"] == "metadata.name=node-1"
            items = [{"metadata": {"name": "node-1"}, "status": {"conditions": [{"type": "Ready", "status": ready}]}}]
        return httpx.Response(200, json={"items": items, "metadata": {}})

    began = time.monotonic()
    left = gone(cluster(answer), "train", f"{RUN_LABEL}=r", seconds)
    spent = time.monotonic() - began
    if ready == "True":
        assert left == {"pod/gonogo-r-1-x": ""} and spent >= seconds
    else:
        assert "node-1 is not ready" in left["pod/gonogo-r-1-x"] and spent < 10
