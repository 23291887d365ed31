"""Records into facts: who was lost and why, what is planned and what came, words for people."""

from judged import read

from gonogo.documents.records import (
    CollectivesLog,
    LinksLog,
    NodeLog,
    PortsLog,
    Record,
    TrainLog,
)
from gonogo.facts.blocked import blocked
from gonogo.facts.collectives import all_reduce_curve, collectives
from gonogo.facts.endings import endings
from gonogo.facts.groups import group_of
from gonogo.facts.identities import identities
from gonogo.facts.links import links
from gonogo.facts.nodes import nodes
from gonogo.facts.ports import Probe, ports
from gonogo.facts.ranks import Exit, Failure, home, node_of, said, spell_bytes
from gonogo.facts.train import train_run
from gonogo.kernel import Lost
from gonogo.model import Status, link, node

NAMES = ("node0", "node1", "node2")


def log(kind, *records, ended=None, names=NAMES):
    """A document of these records; each is (node, step, kind, fields)."""
    made = [
        Record({"node": n, "step": step, "kind": k, "t": float(i), **fields}, f"agents/{n}.jsonl", i + 1)
        for i, (n, step, k, fields) in enumerate(records)
    ]
    return kind(names, tuple(made), ended or {})


def recorded(bundle, kind):
    return read(bundle).logs[kind]


def test_a_node_that_said_nothing_is_lost_with_the_reason():
    found = nodes(log(NodeLog, ("node0", "node", "info", {}), ended={"node1": "killed by signal 9"}))
    assert set(found.present) == {node("node0")}
    assert found.lost[node("node1")].reason == "node1's agent: killed by signal 9."
    assert "said nothing" in found.lost[node("node2")].reason


def test_identities_join_names_addresses_and_order():
    document = recorded("healthy", NodeLog)
    found = identities(document, nodes(document))
    assert found.first == "node0" and found.fabric == "namespaces"
    assert found.at("10.77.0.2").name == "node1" and found.of("node2").addresses[0] == "10.77.0.3"
    assert found.at("10.9.9.9") is None and found.of("node9") is None


def test_identities_of_a_cluster_join_nodes_pods_and_ranks():
    told = [{"name": n, "address": f"10.0.0.{i}", "pod": f"gonogo-r-{i}-x", "index": i} for i, n in enumerate(NAMES)]
    document = log(NodeLog, ("fabric", "fabric", "built", {"nodes": told, "made_of": "pods"}))
    found = identities(document, nodes(document))
    assert found.in_pods
    assert [(i.name, i.index, i.pod) for i in found.nodes] == [
        ("node0", 0, "gonogo-r-0-x"), ("node1", 1, "gonogo-r-1-x"), ("node2", 2, "gonogo-r-2-x")
    ]  # fmt: skip
    assert found.at("10.0.0.2").pod == "gonogo-r-2-x"
    assert not identities(recorded("healthy", NodeLog), nodes(document)).in_pods


def test_probes_after_a_failure_are_not_those_of_the_start():
    told = {"peer": "node1", "port": 1, "role": "probe", "outcome": "connected"}
    after = {**told, "outcome": "mute", "after": "collectives"}
    found = ports(log(PortsLog, ("node0", "ports", "probe", told), ("node0", "ports", "probe", after)))
    assert [p.outcome for p in found.probes("node0", "node1")] == ["connected"]


def test_two_independent_faults_of_ports_are_two():
    """One port closed everywhere, and a node that takes no new connection at all."""
    records = [(n, "ports", "listen", {"port": p, "role": "probe", "ok": True}) for n in NAMES for p in (1, 2)]
    for source in NAMES:
        for target in NAMES:
            for port in (1, 2):
                shut = port == 1 or target == "node2"
                outcome = "silent" if shut and source != target else "connected"
                fields = {"peer": target, "port": port, "role": "probe", "outcome": outcome, "seconds": 3.0}
                records.append((source, "ports", "probe", fields))
    found = blocked(ports(log(PortsLog, *records)))
    assert [(b.shape.kind, b.shape.nodes, b.ports, b.one_way) for b in found] == [
        ("all", NAMES, (1,), False),
        ("into", ("node2",), (2,), True),
    ]


def test_links_that_were_planned_and_never_told_are_lost():
    plan = {"pairs": [["node0", "node1"]]}
    found = links(log(LinksLog, ("node0", "links", "plan", plan), ended={"node1": "killed by signal 9"}))
    assert found.lost[link("node0", "node1")].reason == "node1's agent: killed by signal 9."
    assert node("node2") in found.lost, "a node of which no link was measured is not proven"


def test_no_links_at_all_says_who_could_not_join():
    tried = {"tried": [{"peer": "node0", "outcome": "silent"}]}
    found = links(log(LinksLog, ("node2", "join", "failed", tried)))
    assert isinstance(found, Lost) and found.reason == (
        "No link was measured: node2 found nobody to coordinate (node0: silent)."
    )
    alone = links(log(LinksLog, names=("node0",)))
    assert isinstance(alone, Lost) and alone.status is Status.SKIP


def test_throughput_is_told_by_its_receiver():
    found = links(recorded("healthy", LinksLog))
    one = next(t for t in found.throughputs())
    assert one.record.node == one.target and one.source != one.target
    assert found.present[link(one.source, one.target)].throughputs[0] == one


def test_the_largest_group_is_the_group():
    """A node that nobody could reach made one of its own, and says so last."""
    great = {"members": ["node0", "node1"], "left_out": [{"peer": "node2", "reason": "node0 does not reach node2"}]}
    own = {"members": [], "left_out": [{"peer": "node2", "reason": "alone"}, {"peer": "node0", "reason": "?"}]}
    group = group_of(
        log(CollectivesLog, ("node0", "collectives", "group", great), ("node2", "collectives", "group", own)),
        "collectives",
    )
    assert group.members == ("node0", "node1") and group.left_out == {"node2": "node0 does not reach node2"}


def test_what_a_smaller_group_did_apart_proves_nothing_of_the_whole():
    """Two halves that can't reach each other each form a group and are well in it."""
    names = ("node0", "node1", "node2", "node3")
    told = []
    for first, second in (names[:2], names[2:]):
        told.append((first, "collectives", "group", {"members": [first, second], "left_out": []}))
        for rank, name in enumerate((first, second)):
            told.append((name, "collectives", "init", {"rank": rank, "world_size": 2, "backend": "gloo"}))
            told.append((name, "collectives", "exit", {"code": 0, "signal": None, "reason": ""}))
    found = collectives(log(CollectivesLog, *told, names=names)).ranks
    assert set(found.present) == {node("node0"), node("node1")}
    assert "another group of 2" in found.lost[node("node2")].reason


def test_the_curve_has_the_sizes_that_all_members_completed_at_the_slowest():
    def op(name, size, seconds):
        return name, "collectives", "op", {"op": "all_reduce", "bytes": size, "seconds": seconds, "ranks": 2}

    group = ("node0", "collectives", "group", {"members": ["node0", "node1"], "left_out": []})
    told = [op("node0", 1024, 1.0), op("node1", 1024, 2.0), op("node1", 1024, 1.5), op("node0", 4096, 1.0)]
    curve = all_reduce_curve(collectives(log(CollectivesLog, group, *told)))
    assert curve.seconds == {1024: 1.5} and (curve.ranks, curve.nodes) == (2, 2)


def test_no_curve_says_why():
    curve = all_reduce_curve(collectives(recorded("rendezvous-port-dropped", CollectivesLog)))
    assert isinstance(curve, Lost) and "was left out of collectives" in curve.reason


def test_endings_of_a_killed_node():
    found = endings(collectives(recorded("node-killed", CollectivesLog)), train_run(recorded("node-killed", TrainLog)))
    (agent,) = (e for e in found["node2"] if e.signal)
    assert (agent.who, agent.signal) == ("the agent", 9) and agent.evidence[0].file == "agents/fabric.jsonl"
    assert not any(e.signal for name in ("node0", "node1") for e in found[name])


RECORD = Record({}, "agents/node0.jsonl", 1)


def test_errors_are_told_by_their_first_line_without_folders():
    text = "[enforce fail at /build/x/gloo/transport/tcp/device.cc:84] ifa. Unable to find eth9.\nAt:\n f.py(1)"
    failure = Failure("init", "", None, "RuntimeError", text, (), 0.0, RECORD)
    assert failure.reason == "[device.cc:84] ifa. Unable to find eth9"
    assert Failure("", "", None, "KeyError", "", (), 0.0, RECORD).reason == "KeyError"


def test_who_killed_a_process():
    def end(code=None, signal=None, reason=""):
        return Exit(code, signal, reason, 0, "", 0.0, RECORD)

    assert end(signal=9).killed_by == 9 and "SIGKILL" in end(signal=9).said
    assert end(code=139).killed_by == 11
    assert end(signal=9, reason="deadline").killed_by is None, "that was us"
    assert end(code=1).killed_by is None and end(code=255).killed_by is None


def test_words_for_outcomes_and_sizes():
    def said(outcome, seconds=None, errno=None):
        return Probe("a", "b", "", 1, "", outcome, errno, seconds, "c", "", RECORD).said

    assert said("connected", 0.0002) == "connected after 0.2 ms"
    assert said("silent", 3.0) == "no answer within 3.0 s"
    assert said("unreachable", 0.0, 113) == "unreachable after 0.0 ms (errno 113)"
    assert said("stranger") == "c answered" and "unknown outcome" in said("new")
    assert [spell_bytes(n) for n in (1, 1000, 1024, 3 << 20, 1 << 30)] == [
        "1 bytes",
        "1000 bytes",
        "1 KiB",
        "3 MiB",
        "1 GiB",
    ]


def of_ranks(*told, members=("node0", "node1"), each=2):
    """Records of the step `train` of nodes with several ranks; each of `told` is (node, rank, kind, fields)."""
    group = {"members": list(members), "left_out": [], "ranks_per_node": each}
    made = [(n, "train", kind, {**fields, "of_rank": rank}) for n, rank, kind, fields in told]
    return log(TrainLog, ("node0", "train", "group", group), *made, names=("node0", "node1"))


def test_each_rank_of_a_node_has_its_own_process_and_its_own_absence():
    exits = [(n, r, "exit", {"code": 0, "reason": ""}) for n, r in (("node0", 0), ("node0", 1), ("node1", 3))]
    begun = [(n, r, "at", {"phase": "data"}) for n, r, *_ in exits]
    run = train_run(of_ranks(*begun, *exits))
    assert [str(s) for s in run.ranks] == ["rank/node0/0", "rank/node0/1", "rank/node1/2", "rank/node1/3"]
    assert {said(s): home(s).name for s in run.present} == {
        "node0 rank 0": "node0", "node0 rank 1": "node0", "node1 rank 3": "node1"
    }  # fmt: skip
    assert [lost.reason for lost in run.ranks.lost.values()] == ["node1 rank 2 started no process for train."]
    assert [e.who for e in endings(None, run)["node0"]] == ["rank 0 of train", "rank 1 of train"]
    assert run.group.ranks == ("node0 rank 0", "node0 rank 1", "node1 rank 2", "node1 rank 3")
    assert [node_of(r) for r in run.group.ranks] == ["node0", "node0", "node1", "node1"]


def test_a_node_that_was_left_out_has_no_ranks_that_could_be_numbered():
    run = train_run(of_ranks(("node0", 0, "at", {}), ("node0", 1, "at", {}), members=("node0",)))
    assert [str(s) for s in run.ranks] == ["rank/node0/0", "rank/node0/1", "node/node1"]
    assert run.group.numbers("node0") == (0, 1)


def test_a_group_of_absurdly_many_ranks_a_node_is_bounded():
    assert len(group_of(of_ranks(each=10**9), "train").ranks) == 2 * 128
    assert group_of(of_ranks(each=-3), "train").ranks == ("node0", "node1")
    assert group_of(of_ranks(each="two"), "train").ranks == ("node0", "node1")
