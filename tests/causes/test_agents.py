"""Causes told by agents' records: each fires on a recorded fault, names who it is, and is silent on its near miss."""

import pytest
from judged import HEALTHY, judged, of_agents, recorded, where, with_fields

from gonogo import registry
from gonogo.facts.calls import LastCalls
from gonogo.facts.claims import Claims
from gonogo.facts.clocks import Clocks
from gonogo.facts.collectives import Collectives
from gonogo.facts.links import Links
from gonogo.facts.nodes import Nodes
from gonogo.facts.ports import Ports
from gonogo.facts.storage import Storage
from gonogo.facts.train import TrainRun
from gonogo.model import Certainty, FindingKey, Repair, node
from gonogo.plan import Plan

FIRES = {
    # cause -> {bundle: subjects}
    "network.port_blocked": {
        "all-ports-dropped": {"node/node0", "node/node1", "node/node2"},
        "rendezvous-port-dropped": {"node/node0", "node/node1", "node/node2"},
        "rendezvous-port-rejected": {"node/node0", "node/node1", "node/node2"},
        "only-rendezvous-port": {"node/node0", "node/node1", "node/node2"},
        "pair-dropped": {"link/node1->node2", "link/node2->node1"},
    },
    "network.one_way_blocked": {
        "inbound-dropped": {"node/node2"},
        "outbound-dropped": {"node/node2"},
        "inbound-rejected": {"node/node2"},
        "inbound-prohibited": {"node/node2"},
        "two-faults": {"node/node0"},
    },
    "network.mtu_mismatch": {"mtu-black-hole": {"node/node2"}},
    "network.link_slow": {"node-slow": {"node/node3"}},
    "network.below_plan": {"links-below-plan": {"cluster"}},
    "network.latency_high": {},  # the userspace wire that makes a link late makes it slow as well
    "network.name_unresolved": {"name-unknown": {"node/node0", "node/node1"}},
    "network.address_rewritten": {"addresses-rewritten": {"node/node2"}},
    "job.rendezvous_dns_not_ready": {"coordinator-name-unknown": {"node/node0", "node/node1", "node/node2"}},
    "job.master_addr_wrong": {"coordinator-name-wrong": {"node/node2"}},
    "job.port_in_use": {"port-taken": {"node/node2"}},
    "job.rank_died": {
        "rank-killed": {"node/node2"},
        "one-rank-killed": {"node/node1"},
        "rank-killed-in-training": {"node/node2"},
        "node-killed": {"node/node2"},
        "two-faults": {"node/node2"},
    },
    "job.rank_stalled": {
        "node-frozen": {"node/node2"},
        "rank-frozen": {"node/node2"},
        "node-frozen-in-ports": {"node/node2"},
    },
    "gloo.interface_wrong": {
        "interface-missing": {"node/node0", "node/node1", "node/node2"},
        "interface-without-route": {"node/node0", "node/node1", "node/node2"},
        "own-name-loopback": {"node/node0", "node/node1", "node/node2"},
    },
    "network.packet_loss": {"packets-lost": {"node/node2"}, "packets-damaged": {"node/node2"}},
    "network.connection_cut": {"long-connections-dropped": {"node/node2"}},
    "network.connections_limited": {"few-connections": {"node/node2"}},
    "network.interface_down": {"link-down": {"node/node2"}},
    "network.address_conflict": {"address-taken-twice": {"node/node2"}, "neighbour-stale": {"node/node2"}},
    "node.clock_skew": {"clock-ahead": {"node/node2"}},
    "node.straggler": {
        "little-cpu": {"node/node2"},
        "steps-late": {"node/node2"},
        "data-late": {"node/node2"},
    },
    "limits.open_files_too_few": {"few-descriptors": {"node/node2"}},
    "limits.processes_too_few": {"few-processes": {"node/node2"}},
    "limits.memlock_too_small": {"little-locked-memory": {"node/node2"}},
    "limits.local_ports_too_few": {"few-ephemeral-ports": {"node/node2"}},
    "limits.conntrack_full": {"conntrack-full": {"node/node2"}},
    "software.framework_version_mismatch": {"another-torch": {"node/node2"}},
    "pod.oom_killed": {"little-memory": {"node/node2"}},
    "storage.full": {
        "storage-full": {"node/node0", "node/node1", "node/node2"},
        "storage-without-inodes": {"node/node0", "node/node1", "node/node2"},
    },
    "storage.read_only": {"storage-read-only": {"node/node2"}},
    "storage.checkpoint_not_shared": {"storage-not-shared": {"node/node2"}},
    "storage.not_visible_between_nodes": {
        "storage-not-shared": {"node/node2"},
        "storage-content-wrong": {"node/node2"},
    },
    "storage.checkpoint_torn": {"storage-rename-torn": {"node/node2"}},
    "storage.below_plan": {"storage-below-plan": {"cluster"}},
    "storage.path_missing": {"storage-path-missing": {"node/node0", "node/node1", "node/node2"}},
    "nccl.no_gpu": {"nccl-without-gpu": {"node/node0", "node/node2"}},  # node1 heard of an end before it looked
    "storage.slow": {"storage-slow": {"node/node2"}},
    "collective.wrong_result": {
        "wrong-sum": {"node/node2"},
        "another-dtype": {"node/node2"},
        "wrong-average": {"cluster"},
    },
    "job.collective_mismatch": {
        "another-collective": {"node/node2"},
        "another-shape": {"node/node2"},
        "call-skipped": {"node/node2"},
        "another-dtype": {"node/node2"},
    },
    "job.collective_mismatch_uneven_batches": {"one-batch-fewer": {"node/node2"}},
    "job.world_size_mismatch": {
        "rank-told-twice": {"node/node1", "node/node2"},
        "world-size-told-wrong": {"node/node2"},
    },
    "pod.shm_too_small": {"shm-small": {"node/node1", "node/node2"}},
    "train.loss_not_finite": {"loss-not-finite": {"node/node2"}},
    "train.ranks_diverge": {"parameters-astray": {"node/node2"}},
}
NEAR_MISS = {
    # cause -> bundles that look like it and are something else
    "network.port_blocked": ["inbound-dropped", "node-frozen-in-ports", "coordinator-name-wrong", "port-taken"],
    "network.one_way_blocked": [
        "all-ports-dropped",
        "pair-dropped",
        "node-frozen-in-ports",
        "coordinator-name-unknown",
    ],
    "network.mtu_mismatch": ["healthy-mtu-1500", "node-slow", "node-frozen", "rank-killed"],
    "network.link_slow": ["healthy-even-links", "mtu-black-hole"],
    "network.below_plan": ["node-slow", "link-slow", "healthy-even-links"],
    "network.latency_high": ["latency-high", "node-slow", "healthy-4"],
    "network.name_unresolved": ["coordinator-name-unknown", "coordinator-name-wrong", "all-ports-dropped"],
    "network.address_rewritten": ["coordinator-name-wrong", "healthy-4"],
    "job.rendezvous_dns_not_ready": ["name-unknown", "coordinator-name-wrong", "rendezvous-port-dropped"],
    "job.master_addr_wrong": ["coordinator-name-unknown", "rendezvous-port-dropped", "port-taken"],
    "job.port_in_use": ["rendezvous-port-dropped", "rendezvous-port-rejected"],
    "job.rank_died": ["rank-frozen", "node-frozen", "interface-missing", "mtu-black-hole"],
    "job.rank_stalled": ["rank-killed", "node-killed", "mtu-black-hole", "all-ports-dropped"],
    "gloo.interface_wrong": ["healthy-interface-named", "rank-killed", "coordinator-name-wrong"],
    "network.packet_loss": ["node-slow", "healthy-even-links", "latency-high", "mtu-black-hole"],
    "network.connection_cut": ["mtu-black-hole", "node-frozen", "packets-lost", "link-down", "few-connections"],
    "network.connections_limited": ["only-rendezvous-port", "inbound-dropped", "inbound-rejected", "neighbour-stale"],
    "network.interface_down": ["node-killed", "node-frozen", "rank-killed", "long-connections-dropped"],
    "network.address_conflict": ["pair-dropped", "addresses-rewritten", "coordinator-name-wrong"],
    "node.clock_skew": ["healthy-even-latency", "packets-lost", "node-frozen"],
    "node.straggler": ["healthy-5", "healthy-two-ranks", "node-slow", "packets-lost"],
    "limits.open_files_too_few": ["few-processes", "few-ephemeral-ports"],
    "limits.processes_too_few": ["few-descriptors", "little-memory"],
    "limits.memlock_too_small": ["healthy", "few-descriptors"],
    "limits.local_ports_too_few": ["few-connections", "few-descriptors"],
    "limits.conntrack_full": ["few-connections", "few-ephemeral-ports"],
    "software.framework_version_mismatch": ["healthy-4", "another-collective"],
    "pod.oom_killed": ["rank-killed", "node-killed", "shm-small"],
    "storage.full": ["healthy-storage-nearly-full", "storage-read-only", "storage-not-shared"],
    "storage.read_only": ["storage-full", "storage-not-shared"],
    "storage.checkpoint_not_shared": ["storage-full", "storage-read-only", "healthy-4"],
    "storage.not_visible_between_nodes": ["storage-full", "storage-read-only", "healthy-storage-nearly-full"],
    "storage.checkpoint_torn": ["storage-content-wrong", "storage-not-shared", "storage-locks-ignored"],
    "storage.below_plan": ["storage-slow", "healthy-5"],
    "storage.path_missing": ["storage-full", "storage-read-only", "storage-not-shared"],
    "nccl.no_gpu": ["interface-missing", "rank-killed", "storage-path-missing"],
    "storage.slow": ["healthy-5", "storage-full"],
    "collective.wrong_result": ["another-collective", "rank-killed", "parameters-astray", "loss-not-finite"],
    "job.collective_mismatch": ["rank-killed", "rank-frozen", "link-down", "mtu-black-hole", "wrong-sum"],
    "job.collective_mismatch_uneven_batches": ["call-skipped", "rank-killed-in-training", "another-shape"],
    "job.world_size_mismatch": ["healthy-ranks-told", "rank-killed", "healthy-two-ranks", "one-rank-killed"],
    "pod.shm_too_small": ["rank-killed-in-training", "mtu-black-hole"],
    "train.loss_not_finite": ["rank-killed-in-training", "parameters-astray", "wrong-average"],
    "train.ranks_diverge": ["rank-killed-in-training", "node-killed", "loss-not-finite", "wrong-average"],
}


def fired(found):
    return {d.cause for d in found.raw}


@pytest.mark.parametrize(("cause", "bundle"), [(c, b) for c, bundles in FIRES.items() for b in bundles])
def test_it_fires(cause, bundle):
    found = recorded(bundle).cause(cause)
    assert {str(s) for s in found.subjects} == FIRES[cause][bundle]
    assert found.explains and found.evidence and found.repair is not Repair.NONE and found.next_observation


@pytest.mark.parametrize(("cause", "bundle"), [(c, b) for c, bundles in NEAR_MISS.items() for b in bundles])
def test_it_is_silent_on_its_near_miss(cause, bundle):
    assert cause not in fired(recorded(bundle))


@pytest.mark.parametrize("bundle", HEALTHY)
def test_all_are_silent_where_all_is_well(bundle):
    assert recorded(bundle).raw == ()


def test_each_cause_of_agents_is_in_both_tables():
    known = registry.load()
    planes = {Ports, Links, Collectives, TrainRun, Nodes, Storage, Clocks, Claims, LastCalls}
    needs = {id: set(c.step.needs.values()) for id, c in known.causes.items()}
    beyond = {id for id, facts in needs.items() if any("kube" in f.__module__ or "aws" in f.__module__ for f in facts)}
    mine = {id for id, facts in needs.items() if planes & facts} - beyond
    assert mine == set(FIRES) == set(NEAR_MISS)
    assert of_agents(known)


def test_a_path_at_which_a_file_is_does_exist():
    def file(fields):
        if where(fields, step="storage", kind="failed"):
            fields |= {"op": "folder", "errno": "ENOTDIR", "text": "Not a directory"}
        return fields

    found = judged("storage-read-only", file)
    assert "storage.path_missing" not in fired(found)
    assert "ENOTDIR" in " ".join(f.message for f in found.of("STO001", "fail"))


def test_dropped_and_rejected_are_told_apart():
    assert "is dropped" in recorded("rendezvous-port-dropped").cause("network.port_blocked").summary
    assert "is rejected" in recorded("rendezvous-port-rejected").cause("network.port_blocked").summary


def test_a_port_on_which_nobody_is_known_to_listen_is_not_blocked():
    found = judged("rendezvous-port-rejected", lambda f: None if where(f, kind="listen") else f)
    assert "network.port_blocked" not in fired(found)


def test_commands_name_the_nodes_and_their_addresses():
    commands = recorded("inbound-dropped").cause("network.one_way_blocked").commands
    assert "iptables -I INPUT -p tcp -s 10.77.0.1,10.77.0.2 -j ACCEPT  # on node2" in commands
    commands = recorded("mtu-black-hole").cause("network.mtu_mismatch").commands
    assert "ip link set dev eth0 mtu 1500  # on node2" in commands


def test_large_messages_alone_that_stop_after_some_bytes_are_no_mtu():
    """8000 bytes pass in one packet, 1 MiB does not: connections are cut, packets are not too large."""

    def cut(fields):
        if where(fields, step="links", kind="message") and fields["bytes"] >= 1 << 20:
            return {**fields, "ok": False, "error": "timeout"}
        return fields

    assert "network.mtu_mismatch" not in fired(judged("healthy", cut))


def test_small_full_packets_that_pass_are_no_mtu():
    """With an MSS of 1448, 8000 bytes are five full packets: what stops 64 KiB is not the size of packets."""

    def cut(fields):
        if where(fields, step="links", kind="message") and fields["bytes"] > 8000:
            return {**fields, "ok": False, "error": "timeout"}
        return fields

    assert "network.mtu_mismatch" not in fired(judged("healthy-mtu-1500", cut))


def test_the_first_that_was_killed_is_named_and_its_messengers_are_not():
    """node1 aborted itself after node2 was killed."""
    change = with_fields({"code": None, "signal": 6}, step="collectives", kind="exit", node="node1")
    found = judged("rank-killed", change)
    assert [{str(s) for s in d.subjects} for d in found.raw if d.cause == "job.rank_died"] == [{"node/node2"}]


def test_a_kill_for_memory_is_said():
    change = with_fields({"oom_kills": 1}, step="collectives", kind="exit", node="node2")
    assert "killed 1 of its cgroup for memory" in judged("rank-killed", change).cause("job.rank_died").summary


def test_a_rank_that_we_ended_did_not_die():
    change = with_fields({"reason": "stopped"}, step="collectives", kind="exit", node="node2")
    assert "job.rank_died" not in fired(judged("rank-killed", change))


def test_frozen_is_established_where_the_kernel_answers_for_it():
    assert recorded("node-frozen").cause("job.rank_stalled").certainty is Certainty.ESTABLISHED
    assert recorded("rank-frozen").cause("job.rank_stalled").certainty is Certainty.SUPPORTED


def test_all_ranks_that_wait_and_none_that_spoke_name_nobody():
    """Every rank ended at the deadline without an error: nobody can tell who kept the others."""

    def all_waited(fields):
        if where(fields, step="collectives", kind="error"):
            return None
        if where(fields, step="collectives", kind="exit"):
            return {**fields, "code": None, "signal": 9, "reason": "deadline"}
        return fields

    assert "job.rank_stalled" not in fired(judged("rank-frozen", all_waited))


@pytest.mark.parametrize(("waited", "status"), [(4.0, "unknown"), (0.5, "fail")])
@pytest.mark.parametrize(("step", "check"), [("collectives", "COL002"), ("train", "TRN001")])
def test_a_rank_that_had_no_cpu_when_time_was_up_is_no_fault(step, check, waited, status):
    """Nor are the others of its group, which were ended while they waited for it or lost it."""
    effort = {"looked_seconds": 5.0, "ran_seconds": 1.0, "waited_seconds": waited}

    def busy(fields):
        if where(fields, step=step, kind="exit"):
            more = effort if fields["node"] == "node1" else {"looked_seconds": 5.0, "ran_seconds": 0.1}
            return {**fields, **more, "code": None, "signal": 9, "reason": "deadline"}
        return fields

    found = judged("healthy", busy)
    assert {f.status for f in found.of(check)} == {status} and not found.diagnoses
    assert {f.status for f in found.of("JOB002")} == {"unknown"}
    told = [f.message for f in (*found.of(check), *found.of("JOB002"))]
    assert all(("node1 was at work in" in m and "80% of it without a CPU" in m) == (status == "unknown") for m in told)


def test_a_rank_that_failed_long_before_time_was_up_is_one():
    """However busy the machine is on which the others wait for it."""

    def busy(fields):
        if where(fields, step="collectives", kind="exit") and fields.get("reason") == "deadline":
            return {**fields, "looked_seconds": 5.0, "ran_seconds": 1.0, "waited_seconds": 4.0}
        return fields

    assert judged("rank-killed", busy).cause("job.rank_died")
    failed = {str(f.subject) for f in judged("rank-frozen", busy).of("COL002", "fail")}
    assert failed == {"node/node0", "node/node1"}


def test_a_missing_name_of_its_own_explains_what_gloo_would_do():
    (first,) = recorded("coordinator-name-unknown").diagnoses
    assert first.cause == "job.rendezvous_dns_not_ready"
    assert [d.cause for d in first.consequences] == ["gloo.interface_wrong"]


def test_two_faults_are_both_named_and_neither_hides_the_other():
    blocked, died = recorded("two-faults").diagnoses
    assert (blocked.cause, died.cause) == ("network.one_way_blocked", "job.rank_died")
    left_out = FindingKey("COL001", node("node0"))
    assert left_out in blocked.explains and left_out not in died.explains


def test_a_link_that_is_late_and_not_slow():
    def late(fields):
        if where(fields, step="links", kind="latency") and "node3" in (fields["node"], fields["peer"]):
            return {**fields, "p50_seconds": 0.02, "p99_seconds": 0.03}
        return fields

    (first,) = judged("healthy-4", late).diagnoses
    assert (first.cause, [str(s) for s in first.subjects]) == ("network.latency_high", ["node/node3"])
    assert "take 20 to 20 ms, elsewhere" in first.summary


def test_a_loss_that_is_not_finite():
    change = with_fields({"loss": float("nan")}, step="train", kind="step", node="node1", index=4)
    found = judged("healthy", change)
    (first,) = found.diagnoses
    assert (first.cause, [str(s) for s in first.subjects]) == ("train.loss_not_finite", ["node/node1"])


def test_ranks_that_diverge():
    change = with_fields({"sha256": "0" * 64}, step="train", kind="parameters", node="node1")
    (first,) = judged("healthy", change).diagnoses
    assert (first.cause, [str(s) for s in first.subjects]) == ("train.ranks_diverge", ["node/node1"])


def roots(bundle):
    return [d.cause for d in recorded(bundle).diagnoses]


@pytest.mark.parametrize(
    ("bundle", "first"),
    [
        ("packets-lost", "network.packet_loss"),
        ("few-connections", "network.connections_limited"),
        ("long-connections-dropped", "network.connection_cut"),
        ("address-taken-twice", "network.address_conflict"),
        ("neighbour-stale", "network.address_conflict"),
        ("link-down", "network.interface_down"),
        ("storage-not-shared", "storage.checkpoint_not_shared"),
        ("few-processes", "limits.processes_too_few"),
        ("little-memory", "pod.oom_killed"),
        ("another-shape", "job.collective_mismatch"),
        ("wrong-sum", "collective.wrong_result"),
    ],
)
def test_the_special_cause_stands_alone(bundle, first):
    assert roots(bundle) == [first]


def test_a_full_table_of_connections():
    change = with_fields({"conntrack": [65_536, 65_536]}, step="node", kind="info", node="node1")
    (first,) = judged("healthy", change).diagnoses
    assert (first.cause, [str(s) for s in first.subjects]) == ("limits.conntrack_full", ["node/node1"])


def test_a_remote_file_system_that_does_not_show_files_is_no_disk_of_its_own():
    def remote(fields):
        if where(fields, step="storage", kind="space"):
            return {**fields, "type": "nfs4", "source": "10.0.0.9:/export"}
        return fields

    found = judged("storage-not-shared", remote)
    assert "storage.checkpoint_not_shared" not in fired(found)
    (first,) = found.diagnoses
    assert (first.cause, [str(s) for s in first.subjects]) == ("storage.not_visible_between_nodes", ["node/node2"])


def test_another_export_is_another_file_system():
    def remote(fields):
        if where(fields, step="storage", kind="space"):
            return {**fields, "type": "nfs4", "source": f"10.0.0.9:/export{fields['node'] == 'node2'}"}
        return fields

    assert "storage.checkpoint_not_shared" in fired(judged("storage-not-shared", remote))


def test_wrong_data_are_their_ranks_where_the_operation_tells():
    def told(fields):
        if where(fields, step="collectives", kind="op", op="all_gather"):
            return {**fields, "wrong": 3, "wrong_from": [1]}
        return fields

    found = judged("healthy", told).cause("collective.wrong_result")
    assert [str(s) for s in found.subjects] == ["node/node1"] and "come from node1" in found.summary


def test_a_kill_that_no_group_counted_is_no_want_of_memory():
    assert "pod.oom_killed" not in fired(recorded("rank-killed"))
    change = with_fields({"oom_kills": 1}, step="collectives", kind="exit", node="node2")
    (first,) = judged("rank-killed", change).diagnoses
    assert first.cause == "pod.oom_killed"


def test_a_rank_that_is_late_in_training_is_a_straggler():
    def late(fields):
        if not where(fields, step="train", kind="step"):
            return fields
        if fields["node"] == "node1":
            return {**fields, "before_collective_seconds": 2.0, "sync_seconds": 0.001}
        return {**fields, "sync_seconds": 2.0}

    (first,) = judged("healthy", late).diagnoses
    assert (first.cause, first.certainty) == ("node.straggler", Certainty.SUPPORTED)


def test_a_node_slower_than_its_peers_is_named_beside_a_floor_that_all_miss():
    plan = Plan.model_validate({"expect": {"link_gbps": 50}})
    found = judged("node-slow", plan=plan).diagnoses
    named = {d.cause: {str(s) for s in d.subjects} for d in found}
    assert named == {"network.below_plan": {"cluster"}, "network.link_slow": {"node/node3"}}


def test_one_node_that_misses_the_floor_alone_is_not_the_plan():
    plan = Plan.model_validate({"expect": {"link_gbps": 1}})
    (found,) = judged("node-slow", plan=plan).diagnoses
    assert found.cause == "network.link_slow"


def test_a_link_with_too_few_segments_to_tell_does_not_part_its_nodes_loss():
    def few(fields):
        if where(fields, step="links", kind="throughput", node="node2", peer="node0"):
            return {**fields, "bytes": 8949 * 60, "retransmits": 2}
        return fields

    named = [(d.cause, [str(s) for s in d.subjects]) for d in judged("packets-lost", few).diagnoses]
    assert named == [("network.packet_loss", ["node/node2"])]


def test_loss_that_arrives_damaged_says_so():
    assert "they arrive damaged" in recorded("packets-damaged").cause("network.packet_loss").summary
    assert "damaged" not in recorded("packets-lost").cause("network.packet_loss").summary


def test_a_connection_that_loss_kept_out_once_is_no_limit():
    """In this recording all that asked for one of five connections was lost until the probe gave up."""
    (found,) = recorded("packets-damaged").diagnoses
    assert recorded("packets-damaged").bad("NET008") and found.cause == "network.packet_loss"


def test_one_of_several_ranks_is_named_with_its_node_and_each_other_is_counted_once():
    died = recorded("one-rank-killed").cause("job.rank_died")
    assert died.summary.startswith("Rank 3 of collectives on node1 was killed by signal 9 (SIGKILL)")
    assert "; 3 other ranks failed after it" in died.summary
    assert {str(key.subject) for key in died.explains if key.check == "TRN001"} == {
        "rank/node0/0", "rank/node0/1", "rank/node1/2", "rank/node1/3"
    }  # fmt: skip
    alone = recorded("rank-killed").cause("job.rank_died")
    assert "; 2 other ranks failed after it" in alone.summary
