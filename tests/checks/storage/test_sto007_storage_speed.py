"""STO007 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields

from gonogo.plan import Plan


def floor(gbytes):
    return Plan.model_validate({"storage": [{"path": "/mnt/shared", "writeGbytesPerSecond": gbytes}]})


def test_three_peers_are_held_against_each_other():
    found = recorded("healthy")
    assert {f.status for f in found.of("STO007")} == {"ok"}
    assert {"storage_write", "storage_read", "storage_small_files"} <= {f.name for f in found.figures}


def test_one_that_is_far_slower_fails():
    (odd,) = recorded("storage-slow").of("STO007", "fail")
    assert str(odd.subject) == "node/node2" and odd.measured < 0.01 and odd.threshold_source == "the other nodes"


def test_a_short_write_says_nothing():
    change = with_fields({"seconds": 0.9}, step="storage", kind="write", node="node1")
    assert not judged("healthy", change, only=("STO007",)).of("STO007", "fail")


def test_the_plans_floor_goes_first():
    assert {f.status for f in judged("healthy", plan=floor(1000.0), only=("STO007",)).of("STO007")} == {"fail"}
    assert {f.status for f in judged("healthy", plan=floor(0.0001), only=("STO007",)).of("STO007")} == {"ok"}
