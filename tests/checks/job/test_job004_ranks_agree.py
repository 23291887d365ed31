"""JOB004 through the kernel, on recorded runs."""

from judged import recorded


def test_who_is_told_nothing_is_not_judged():
    assert {f.status for f in recorded("healthy-ranks-told").of("JOB004")} == {"ok"}
    assert {f.status for f in recorded("healthy").of("JOB004")} <= {"skip"}


def test_one_rank_twice_is_both_nodes_matter():
    assert recorded("rank-told-twice").bad("JOB004") == {"node/node1", "node/node2"}


def test_another_world_size_is_the_minoritys():
    (odd,) = recorded("world-size-told-wrong").of("JOB004", "fail")
    assert str(odd.subject) == "node/node2" and "WORLD_SIZE=4" in odd.message and "other nodes have 3" in odd.message
