"""NET006 through the kernel, on recorded runs."""

from judged import judged, recorded, without


def test_all_ports_are_free():
    found = recorded("healthy").of("NET006")
    assert {(f.status, f.measured, f.expected) for f in found} == {("ok", 5, 5)}


def test_a_port_that_is_taken():
    (found,) = recorded("port-taken").of("NET006", "fail")
    assert str(found.subject) == "node/node2" and "29500: " in found.message and "in use" in found.message.lower()


def test_no_word_of_listening_is_unknown():
    found = judged("healthy", without(kind="listen", node="node1"), only=("NET006",))
    assert [str(f.subject) for f in found.of("NET006", "unknown")] == ["node/node1"]
