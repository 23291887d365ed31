"""Every fault inside a node does what its name says: seen by the probe or, where frameworks are meant, by real runs."""

import errno
import sys
import threading
from pathlib import Path

import pytest

from gonogo.collect.local import LocalTarget, run_agents
from gonogo.documents.bundle import Bundle
from gonogo.documents.records import CollectivesLog, LinksLog, NodeLog
from gonogo.kernel import Control
from gonogo.plan import Plan

LAUNCHER = (sys.executable, str(Path(__file__).parent / "launcher.py"))
pytestmark = pytest.mark.fabric


def facts(records):
    return {r["node"]: r for r in records if r["kind"] == "facts"}


@pytest.mark.parametrize(
    "scenario, field, others, victims",
    [
        ("shm-small", "shm_bytes", 1 << 30, 4 << 20),
        ("storage-read-only", "write_errno", 0, errno.EROFS),
        ("few-descriptors", "nofile", None, 40),
        ("little-locked-memory", "memlock", None, 64 << 10),
        ("few-ephemeral-ports", "ports", ["32768", "60999"], ["40000", "40001"]),
    ],
)
def test_the_victim_and_nobody_else_lacks_it(look, scenario, field, others, victims):
    seen = facts(look(scenario))
    assert seen["node2"][field] == victims
    for node in ("node0", "node1"):
        assert seen[node][field] != victims
        assert others is None or seen[node][field] == others


@pytest.mark.parametrize("scenario, number", [("storage-full", errno.ENOSPC), ("storage-without-inodes", errno.ENOSPC)])
def test_nobody_can_write(look, scenario, number):
    assert number in {r["write_errno"] for r in facts(look(scenario)).values()}


def test_a_nearly_full_folder_has_room(look):
    for r in facts(look("storage-nearly-full")).values():
        assert r["write_errno"] == 0 and 100 << 20 < r["free_bytes"] < 300 << 20


def test_the_victims_folder_is_its_own(look):
    devices = {node: r["device"] for node, r in facts(look("storage-not-shared")).items()}
    assert devices["node0"] == devices["node1"] != devices["node2"]


def test_every_node_has_a_second_interface(look):
    for r in facts(look("interface-without-route")).values():
        assert set(r["interfaces"]) == {"lo", "eth0", "priv0"}


def test_only_a_few_connections_are_taken_at_once(look):
    records = look("few-connections")
    held = {(r["node"], r["peer"]): r["held"] for r in records if r["kind"] == "together"}
    assert all(count == 16 for pair, count in held.items() if pair[1] != "node2")
    assert all(count <= 3 for pair, count in held.items() if pair[1] == "node2")


def test_a_connection_is_dropped_after_some_bytes(look):
    took = {(r["node"], r["peer"], r["bytes"] if r["kind"] == "message" else "bulk"): r["seconds"]
            for r in look("long-connections-dropped") if r["kind"] in ("message", "bulk")}  # fmt: skip
    dropped = {key for key, seconds in took.items() if seconds is None}
    assert dropped == {
        (a, b, "bulk") for a, b in (("node0", "node2"), ("node1", "node2"), ("node2", "node0"), ("node2", "node1"))
    }


def test_a_stale_neighbour_cuts_one_pair_in_both_directions(look):
    silent = {(r["node"], r["peer"]) for r in look("neighbour-stale") if r.get("outcome") == "silent"}
    assert silent == {("node1", "node2"), ("node2", "node1")}


def test_an_address_taken_twice_answers_from_two_places(look):
    answers = {(r["node"], r["peer"], r["by"]) for r in look("address-taken-twice") if r.get("outcome") == "connected"}
    assert ("node2", "node1", "node2") in answers  # who took it talks to itself


def run(scenario, wanted, tmp_path):
    """The last document of a real run with that fault."""
    target = LocalTarget(3, "quick", launcher=(*LAUNCHER, scenario))
    control = Control(frozenset({wanted}), threading.Event(), lambda _: None)
    *_, log = run_agents(target, Plan(), Bundle.create(tmp_path / "bundle"), control)
    assert type(log) is wanted
    return log


@pytest.mark.fabric("faketime")
@pytest.mark.fabric("faketime")
def test_the_victims_clock_is_an_hour_ahead(tmp_path):
    clocks = {r.node: r["clock"] for r in run("clock-ahead", NodeLog, tmp_path).of("info")}
    assert 3500 < clocks["node2"] - clocks["node0"] < 3700
    assert abs(clocks["node1"] - clocks["node0"]) < 100


def test_the_victim_has_another_version_of_torch(tmp_path):
    versions = {r.node: r["versions"]["torch"] for r in run("another-torch", NodeLog, tmp_path).of("info")}
    assert versions["node2"] == "2.4.0" != versions["node0"] == versions["node1"]


def test_the_kernel_kills_who_wants_more_memory(tmp_path):
    log = run("out-of-memory", CollectivesLog, tmp_path)
    assert log.ended["node2"] == "killed by signal 9" or [r["signal"] for r in log.of("exit", node="node2")] == [9]


def test_a_flipped_bit_gives_a_wrong_sum(tmp_path):
    log = run("wrong-sum", CollectivesLog, tmp_path)
    assert any(r["wrong"] for r in log.of("op"))


def test_ranks_that_call_different_collectives_fail(tmp_path):
    log = run("another-collective", CollectivesLog, tmp_path)
    assert any(log.of("error")) or any(r["wrong"] for r in log.of("op"))


def test_damaged_packets_come_with_wrong_checksums_to_the_victim_and_from_it(tmp_path):
    log = run("packets-damaged", LinksLog, tmp_path)
    assert all(r["segments"] > 0 for r in log.of("damaged")) and len(list(log.of("damaged"))) == 3


def test_a_table_of_connections_looks_full_on_the_victim(tmp_path):
    tracked = {r.node: r["conntrack"] for r in run("conntrack-full", NodeLog, tmp_path).of("info")}
    assert tracked["node2"] == [262144, 262144] and tracked["node0"][0] < 1000
