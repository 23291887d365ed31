"""LIM004 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields


def test_the_kernels_range_is_enough():
    assert {f.status for f in recorded("healthy").of("LIM004")} == {"ok"}


def test_two_ports_are_too_few():
    (odd,) = recorded("few-ephemeral-ports").of("LIM004", "fail")
    assert str(odd.subject) == "node/node2" and "of 2 local ports left" in odd.message


def test_ports_in_use_count():
    found = judged("healthy", with_fields({"tcp_sockets": 28220}, step="node", node="node1"), only=("LIM004",))
    assert [str(f.subject) for f in found.of("LIM004", "fail")] == ["node/node1"]
