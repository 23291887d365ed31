"""COL002 through the kernel, on recorded runs."""

from judged import judged, recorded, without


def test_every_rank_completes_everything():
    found = recorded("healthy").of("COL002")
    assert {f.status for f in found} == {"ok"} and all(f.measured == f.expected > 4 for f in found)


def test_a_killed_rank_and_those_who_lost_it_fail():
    found = recorded("rank-killed")
    assert found.bad("COL002") == {"node/node0", "node/node1", "node/node2"}
    assert "signal 9" in next(f.message for f in found.of("COL002") if f.subject.name == "node2")


def test_large_messages_that_vanish_time_out():
    assert "Timed out" in recorded("mtu-black-hole").of("COL002", "fail")[0].message


def test_one_result_less_than_the_others_is_no_pass():
    found = judged("healthy", without(step="collectives", kind="op", node="node1", op="barrier"), only=("COL002",))
    assert found.bad("COL002") == {"node/node1"}


def test_an_untold_end_is_unknown():
    found = judged("healthy", without(step="collectives", kind="exit", node="node1"), only=("COL002",))
    assert [str(f.subject) for f in found.of("COL002", "unknown")] == ["node/node1"]
