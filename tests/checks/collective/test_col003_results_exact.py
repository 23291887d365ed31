"""COL003 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields


def test_every_result_is_exact():
    found = recorded("healthy").of("COL003")
    assert {f.status for f in found} == {"ok"} and all(f.measured == f.expected for f in found)


def test_three_wrong_elements_fail():
    change = with_fields({"wrong": 3}, step="collectives", kind="op", op="all_reduce", bytes=1 << 20, node="node1")
    found = judged("healthy", change, only=("COL003",))
    (wrong,) = found.of("COL003", "fail")
    assert str(wrong.subject) == "node/node1" and "all_reduce of 1 MiB has 3 wrong elements" in wrong.message


def test_an_unchecked_result_is_unknown():
    change = with_fields({"wrong": None}, step="collectives", kind="op", op="all_reduce", node="node1")
    assert [str(f.subject) for f in judged("healthy", change, only=("COL003",)).of("COL003", "unknown")] == [
        "node/node1"
    ]
