"""TRN001 through the kernel, on recorded runs."""

from judged import judged, recorded, without


def test_every_rank_trains_all_steps():
    found = recorded("healthy").of("TRN001")
    assert {f.status for f in found} == {"ok"} and all(f.measured == f.expected >= 10 for f in found)


def test_a_rank_that_is_killed_stops_all():
    found = recorded("rank-killed-in-training")
    assert found.bad("TRN001") == {"node/node0", "node/node1", "node/node2"}


def test_a_node_that_is_left_out_is_unknown():
    assert [str(f.subject) for f in recorded("inbound-dropped").of("TRN001", "unknown")] == ["node/node2"]


def test_a_step_that_is_missing_is_no_pass():
    found = judged("healthy", without(step="train", kind="step", node="node1", index=3), only=("TRN001",))
    assert found.bad("TRN001") == {"node/node1"}


def test_steps_that_nobody_came_to_are_wanting():
    for found in recorded("one-batch-fewer").of("TRN001"):
        assert (found.status, found.measured, found.expected) == ("fail", 9, 10)
