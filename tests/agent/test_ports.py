"""Every outcome of a probe, provoked for real between processes on loopback addresses."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

Make = Callable[..., Any]


@pytest.fixture
def server() -> Iterator[Callable[[str, int, bytes | None], None]]:
    """server(address, port, words) listens; says these words, or nothing if b"", or closes at once if None."""
    with ExitStack() as stack:

        def start(address: str, port: int, words: bytes | None) -> None:
            listener = stack.enter_context(socket.create_server((address, port)))
            guests: list[socket.socket] = []
            stack.callback(lambda: [guest.close() for guest in guests])

            def serve() -> None:
                while True:
                    try:
                        guest, _ = listener.accept()
                    except OSError:
                        return
                    if words is None:
                        guest.close()
                        continue
                    guest.sendall(words)
                    guests.append(guest)

            threading.Thread(target=serve, daemon=True).start()
            stack.callback(lambda: listener.shutdown(socket.SHUT_RDWR))

        yield start


def test_healthy_peers_say_who_they_are_on_all_ports(agents: Make) -> None:
    three = agents(3, steps=["node", "ports"]).start().wait()
    ports = {three.spec.rendezvous_port, three.spec.agent_port, *three.spec.probe_ports}
    for index, me in enumerate(three.spec.addresses):
        probes = three.records(index, "ports", "probe")
        assert {(p["peer"], p["port"]) for p in probes} == {(peer, port) for peer in three.spec.peers for port in ports}
        assert {p["outcome"] for p in probes} == {"connected"}
        assert all(p["answered_by"] == p["peer"] and p["seen_as"] == me for p in probes)
        assert all(abs(p["clock_offset"]) <= p["seconds"] for p in probes)  # one clock: off by the way there at most
        assert all(r["ok"] for r in three.records(index, "ports", "listen"))


def test_a_peer_that_never_starts_is_refused_after_the_time_it_had(agents: Make) -> None:
    two = agents(2, steps=["ports"], start_seconds=1.0).start(0).wait(0)
    assert set(two.outcomes(0, "node1").values()) == {"refused"}
    assert all(p["attempts"] > 1 for p in two.records(0, "ports", "probe") if p["peer"] == "node1")
    assert set(two.outcomes(0, "node0").values()) == {"connected"}


def test_a_peer_that_starts_late_is_waited_for(agents: Make) -> None:
    two = agents(2, steps=["ports"], start_seconds=20.0).start(0)
    two.until(lambda: two.records(0, "ports", "probe"))  # its own address: it is at it
    two.start(1).wait()
    assert set(two.outcomes(0, "node1").values()) == {"connected"}


def test_a_refusal_of_a_peer_that_is_known_to_live_is_soon_believed(agents: Make) -> None:
    two = agents(2, steps=["ports"], start_seconds=50.0)
    closed = two.spec.probe_ports[0]
    with socket.socket() as taken:  # bound and not listening: its agent can't listen there either, and all are refused
        taken.bind((two.spec.addresses[1], closed))
        two.start().wait()
    (refused,) = [p for p in two.records(0, "ports", "probe") if p["outcome"] != "connected"]
    assert (refused["peer"], refused["port"], refused["outcome"]) == ("node1", closed, "refused")
    assert refused["attempts"] > 5
    (end,) = [r for r in two.records(0, "agent", "end") if r["of"] == "ports"]
    assert end["seconds"] < two.spec.start_seconds / 2


def test_who_accepts_and_says_nothing_is_mute_and_who_says_something_else_a_stranger(agents: Make, server: Any) -> None:
    two = agents(2, steps=["ports"], start_seconds=1.0)
    there, (silent, other, shy) = two.spec.addresses[1], two.spec.probe_ports
    server(there, silent, b"")
    server(there, other, b"SSH-2.0-OpenSSH_9.2\r\n")
    server(there, shy, None)
    server(there, two.spec.agent_port, b'{"hello":"test","node":"node7"}\n')
    server(there, two.spec.rendezvous_port, b'{"hello":"yesterday","node":"node1"}\n')
    two.start(0).wait(0)
    found = {p["port"]: p for p in two.records(0, "ports", "probe") if p["peer"] == "node1"}
    assert found[silent]["outcome"] == "mute"
    assert found[other]["outcome"] == "stranger" and "SSH-2.0" in found[other]["answered_by"]
    assert found[shy]["outcome"] == "reset"
    assert found[two.spec.agent_port]["outcome"] == "stranger"
    assert found[two.spec.agent_port]["answered_by"] == "node7"
    assert found[two.spec.rendezvous_port]["answered_by"] == "node1 of another run"


def test_an_agent_that_is_frozen_is_mute(agents: Make) -> None:
    two = agents(2, steps=["ports"], start_seconds=2.0).start(1)
    two.until(lambda: two.records(1, "ports", "probe"))
    os.kill(two.processes[1].pid, signal.SIGSTOP)
    two.start(0).wait(0)
    assert set(two.outcomes(0, "node1").values()) == {"mute"}


def test_an_unknown_name_is_told_apart_and_costs_no_more_than_its_time(agents: Make) -> None:
    one = agents(2, steps=["ports"], start_seconds=1.0)
    one.spec.addresses[1] = "no-such-node.invalid"
    one._file.write_text(one.spec.to_json())
    one.start(0).wait(0)
    (resolve,) = [r for r in one.records(0, "ports", "resolve") if r["peer"] == "node1"]
    assert resolve["addresses"] == [] and resolve["error"]
    assert set(one.outcomes(0, "node1").values()) == {"name_unknown"}
    (end,) = [r for r in one.records(0, "agent", "end") if r["of"] == "ports"]
    assert end["error"] == "" and end["seconds"] < one.spec.start_seconds + 2 * one.spec.connect_seconds


def test_a_taken_port_is_a_record_and_no_end(agents: Make, server: Any) -> None:
    two = agents(2, steps=["ports"])
    server(two.spec.addresses[0], two.spec.rendezvous_port, b"")
    two.start().wait()
    (taken,) = [r for r in two.records(0, "ports", "listen") if not r["ok"]]
    assert taken["port"] == two.spec.rendezvous_port and "in use" in taken["error"]
    assert two.outcomes(1, "node0")[two.spec.rendezvous_port] == "mute"
    assert two.outcomes(1, "node0")[two.spec.agent_port] == "connected"


def test_no_descriptors_left_is_exhausted(agents: Make) -> None:
    two = agents(2, steps=["ports"], start_seconds=1.0).start(0, through=("prlimit", "--nofile=18")).wait(0)
    outcomes = {o for peer in two.spec.peers for o in two.outcomes(0, peer).values()}
    assert "exhausted" in outcomes, outcomes
