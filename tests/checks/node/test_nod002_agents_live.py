"""NOD002 through the kernel, on recorded runs."""

from judged import judged, recorded


def test_agents_of_a_healthy_run_live_to_the_end():
    assert {f.status for f in recorded("healthy").of("NOD002")} == {"ok"}


def test_a_killed_agent_fails():
    (found,) = recorded("node-killed").of("NOD002", "fail")
    assert str(found.subject) == "node/node2" and "killed by signal 9" in found.message


def test_a_frozen_agent_fails():
    (found,) = recorded("node-frozen").of("NOD002", "fail")
    assert str(found.subject) == "node/node2" and "stopped answering at" in found.message


def test_a_crash_of_our_own_is_unknown_and_not_the_nodes_fault():
    def crash(fields):
        if fields["kind"] == "heartbeat" and fields["node"] == "node1":
            return {**fields, "kind": "crash", "of": "links", "traceback": "ZeroDivisionError"}
        return fields

    found = judged("healthy", crash, only=("NOD002",))
    assert [str(f.subject) for f in found.of("NOD002", "unknown")] == ["node/node1"]
