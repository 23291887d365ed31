"""JOB001 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields


def test_ranks_end_by_themselves():
    found = recorded("healthy").of("JOB001")
    assert {f.status for f in found} == {"ok"}
    assert "the rank of collectives ended with code 0; the rank of train ended with code 0" in found[0].message


def test_the_killed_one_alone_fails():
    for bundle in ("rank-killed", "rank-killed-in-training", "node-killed"):
        found = recorded(bundle)
        assert found.bad("JOB001") == {"node/node2"}
        assert "signal 9 (SIGKILL)" in found.of("JOB001", "fail")[0].message


def test_one_that_failed_and_ended_was_not_killed():
    assert not recorded("interface-missing").bad("JOB001")


def test_one_that_we_ended_was_not_killed():
    assert not recorded("rank-frozen").bad("JOB001")


def test_a_shells_code_for_a_signal_counts():
    change = with_fields({"code": 137}, step="train", kind="exit", node="node1")
    assert judged("healthy", change, only=("JOB001", "TRN001")).bad("JOB001") == {"node/node1"}
