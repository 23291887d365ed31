"""Pairs measured between real agents: what is recorded, and what a stuck connection costs."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from gonogo.agent import wire
from gonogo.agent.pair import MESSAGE_BYTES
from gonogo.agent.wire import CHUNK_BYTES, Gone, Stalled, Wire

Make = Callable[..., Any]
STEPS = ["ports", "join", "links"]


@pytest.fixture(scope="module")
def wires() -> tuple[Wire, Wire]:
    one, two = socket.socketpair()
    for end in (one, two):
        end.setblocking(False)
    return Wire(one), Wire(two)


def test_every_pair_is_measured_in_both_directions(agents: Make) -> None:
    four = agents(4, steps=STEPS).start().wait()
    for index, name in enumerate(four.spec.peers):
        others = {peer for peer in four.spec.peers if peer != name}
        assert not four.records(index, "links", "error") and not four.records(index, "agent", "crash")
        messages = four.records(index, "links", "message")
        assert {(m["peer"], m["bytes"]) for m in messages} == {(p, n) for p in others for n in MESSAGE_BYTES}
        assert all(m["ok"] and m["mss"] > 1000 and m["pmtu"] > 1000 for m in messages)
        latency = four.records(index, "links", "latency")
        assert {r["peer"] for r in latency} == others
        assert all(0 < r["p50_seconds"] <= r["p99_seconds"] < 1 and r["samples"] > 10 for r in latency)
        rates = [r for r in four.records(index, "links", "throughput") if r["phase"] == 1]
        assert {r["peer"] for r in rates} == others
        assert all(r["gbps"] > 0 and r["slices"] and r["bytes"] >= CHUNK_BYTES and r["seconds"] > 0 for r in rates)
    plan = four.records(0, "links", "plan")[0]
    assert plan["rounds"] == 3 and sum(map(len, plan["pairs"])) == 6


def test_a_rate_is_of_what_came_after_the_first_slice_in_which_tcp_finds_its_pace() -> None:
    seen = [(10.0, 0), (10.1, 1_000_000), (10.2, 13_500_000), (10.3, 38_500_000), (10.31, 38_600_000)]
    marks = [wire._Mark(at, size, 0, 0) for at, size in seen]
    rate = wire._rate(marks, 7, 0.1)
    assert (rate.bytes, rate.seconds, rate.retransmits) == (38_600_000, pytest.approx(0.31), 7)
    assert rate.gbps == pytest.approx(37.6e6 * 8e-9 / 0.21)
    assert rate.slices == pytest.approx([1.0, 2.0])  # the last is too short to say anything


def test_one_pair_at_a_time_means_that(agents: Make) -> None:
    four = agents(4, steps=STEPS, pairs_at_once=1).start().wait()
    spans = {}
    for index, name in enumerate(four.spec.peers):
        for rate in four.records(index, "links", "throughput"):
            spans[frozenset((name, rate["peer"])), name, rate["t"]] = (rate["t"] - rate["seconds"], rate["t"])
    for (pair, *_), (start, end) in spans.items():
        for (other, *_), (begin, finish) in spans.items():
            assert pair == other or end <= begin or finish <= start


def test_a_partner_that_freezes_costs_its_pairs_and_no_others(agents: Make) -> None:
    three = agents(3, steps=STEPS, slice_seconds=0.5).start()
    three.until(lambda: three.records(2, "links"))
    three.processes[2].send_signal(19)
    three.wait(0, 1)
    assert {r["peer"] for r in three.records(0, "links", "throughput")} >= {"node1"}
    (end,) = [r for r in three.records(0, "agent", "end") if r["of"] == "links"]
    assert end["error"] == "" and end["seconds"] < 30
    told = [r for i in (0, 1) for r in three.records(i, "links", "error") if r["peer"] == "node2"]
    assert all(r["outcome"] in ("mute", "silent") for r in told)
    # frozen between two turns, it is known as lost before the next one: nobody waits for it there
    assert told or [r for r in three.records(0, "agent", "lost") if r["peer"] == "node2"]


def test_a_message_that_is_not_acknowledged_stalls_within_its_time(wires: tuple[Wire, Wire]) -> None:
    started = time.monotonic()
    with pytest.raises(Stalled):
        asyncio.run(wires[0].send_message(64))
    assert 1.5 < time.monotonic() - started < 4.0


def test_a_stream_into_a_full_pipe_stalls(wires: tuple[Wire, Wire]) -> None:
    with pytest.raises(Stalled):
        asyncio.run(wires[0]._send_chunk(memoryview(bytes(1 << 22))))


def test_who_leaves_is_gone_at_once() -> None:
    one, two = socket.socketpair()
    one.setblocking(False)
    two.close()
    with pytest.raises(Gone):
        asyncio.run(Wire(one).receive(1, 5.0))
    one.close()


def test_the_heart_beats_while_a_stream_flows() -> None:
    """The loop gets its turn at least every few bursts: measured on real sockets, both ends in one loop."""

    async def both() -> tuple[float, Any]:
        server = socket.create_server(("127.0.0.1", 0))
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
        for end in (near, far):
            end.setblocking(False)
        gaps, last = [0.0], time.monotonic()

        async def beat() -> None:
            nonlocal last
            while True:
                await asyncio.sleep(0)
                gaps.append(time.monotonic() - last)
                last = time.monotonic()

        beating = asyncio.ensure_future(beat())
        _, rate = await asyncio.gather(Wire(near).stream(0.5), Wire(far).drain(0.5))
        beating.cancel()
        for end in (near, far, server):
            end.close()
        return max(gaps), rate

    longest, rate = asyncio.run(both())
    assert longest < 0.5
    assert rate.gbps > 0
