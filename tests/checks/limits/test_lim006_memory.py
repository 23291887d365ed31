"""LIM006 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields


def test_gigabytes_are_enough():
    assert {f.status for f in recorded("healthy").of("LIM006")} == {"ok"}


def test_a_control_group_with_little_room_warns():
    (odd,) = recorded("little-memory").of("LIM006", "warn")
    assert str(odd.subject) == "node/node2" and odd.measured <= 48 << 20


def test_a_machine_with_little_left_warns():
    change = with_fields({"memory_available_bytes": 100 << 20}, step="node", node="node1")
    found = judged("healthy", change, only=("LIM006",))
    assert [str(f.subject) for f in found.of("LIM006", "warn")] == ["node/node1"]
