"""NET003 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields, without


def test_every_name_leads_to_its_node():
    found = recorded("healthy").of("NET003")
    assert {(f.status, f.measured, f.expected) for f in found} == {("ok", 2, 2)}


def test_a_name_that_does_not_resolve():
    found = recorded("coordinator-name-unknown")
    assert found.bad("NET003") == {"node/node1", "node/node2"}
    assert (
        "node0: " in found.of("NET003", "fail")[0].message
        and "resolves 1 of 2" in found.of("NET003", "fail")[0].message
    )


def test_a_name_that_leads_to_another_node():
    (found,) = recorded("coordinator-name-wrong").of("NET003", "fail")
    assert str(found.subject) == "node/node2"
    assert "node0: 10.77.0.2, which is node1's, not 10.77.0.1" in found.message


def test_an_address_of_nobody_is_right_if_the_node_answers_there():
    """A service's address, or a gateway's."""
    change = with_fields({"addresses": ["10.96.0.7"]}, kind="resolve", node="node1", peer="node2")
    assert judged("healthy", change, only=("NET003",)).worst("NET003") == "ok"


def test_a_name_that_nobody_asked_for_is_unknown():
    found = judged("healthy", without(kind="resolve", node="node1", peer="node2"), only=("NET003",))
    assert [str(f.subject) for f in found.of("NET003", "unknown")] == ["node/node1"]
