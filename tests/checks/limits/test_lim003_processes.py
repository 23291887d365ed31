"""LIM003 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields


def test_no_limit_is_enough():
    assert {f.status for f in recorded("healthy").of("LIM003")} == {"ok"}


def test_six_processes_are_too_few():
    (odd,) = recorded("few-processes").of("LIM003", "fail")
    assert str(odd.subject) == "node/node2" and "of 6 processes left" in odd.message


def test_a_users_limit_holds_for_who_is_not_root():
    user = {"uid": 1000, "limits": {"nofile": [1024, 1024], "memlock": [-1, -1], "nproc": [10, 10]}}
    found = judged("healthy", with_fields(user, step="node", kind="info", node="node1"), only=("LIM003",))
    assert [str(f.subject) for f in found.of("LIM003", "fail")] == ["node/node1"]


def test_an_untold_limit_is_unknown():
    found = judged("healthy", with_fields({"processes": None}, step="node", node="node1"), only=("LIM003",))
    assert [str(f.subject) for f in found.of("LIM003", "unknown")] == ["node/node1"]
