"""NET005 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields


def test_peers_see_each_other_by_their_own_addresses():
    assert {f.status for f in recorded("healthy").of("NET005")} == {"ok"}


def test_an_address_that_was_rewritten_on_the_way():
    found = recorded("addresses-rewritten")
    assert found.bad("NET005") == {"link/node2->node0", "link/node2->node1"}
    assert "sees node2 as 10.77.0.250, node2's own is 10.77.0.3" in found.of("NET005", "fail")[0].message


def test_a_port_after_the_address_is_no_difference():
    change = with_fields({"seen_as": "10.77.0.2:40123"}, kind="probe", node="node1", peer="node2")
    assert judged("healthy", change, only=("NET005",)).worst("NET005") == "ok"


def test_an_untold_address_is_unknown():
    change = with_fields({"seen_as": ""}, kind="probe", node="node1", peer="node2")
    found = judged("healthy", change, only=("NET005",))
    assert [str(f.subject) for f in found.of("NET005", "unknown")] == ["link/node1->node2"]
