"""JOB002 through the kernel, on recorded runs."""

from judged import recorded


def test_nobody_stands_still():
    assert {f.status for f in recorded("healthy").of("JOB002")} == {"ok"}


def test_a_frozen_node_is_named():
    found = recorded("node-frozen")
    assert found.bad("JOB002") == {"node/node2"}
    assert "nobody there speaks" in found.of("JOB002", "fail")[0].message


def test_a_frozen_rank_of_a_living_agent_is_named():
    found = recorded("rank-frozen")
    assert found.bad("JOB002") == {"node/node2"}
    assert "reported no error" in found.of("JOB002", "fail")[0].message


def test_a_dead_one_does_not_stand_still():
    for bundle in ("rank-killed", "node-killed", "mtu-black-hole"):
        assert not recorded(bundle).bad("JOB002")
