"""NET001 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields, without

PAIRS = {f"link/node{a}->node{b}" for a in range(3) for b in range(3) if a != b}


def test_every_ordered_pair_connects():
    found = recorded("healthy").of("NET001")
    assert {str(f.subject) for f in found} == PAIRS and {f.status for f in found} == {"ok"}
    assert "on 1 of 1 ports (29500)" in found[0].message


def test_a_dropped_port_gets_no_answer():
    found = recorded("rendezvous-port-dropped")
    assert found.bad("NET001") == PAIRS and not found.bad("NET002")
    assert "29500: no answer within 3 s" in found.of("NET001")[0].message


def test_a_rejected_port_is_refused():
    found = recorded("rendezvous-port-rejected")
    assert found.bad("NET001") == PAIRS
    assert "29500: refused" in found.of("NET001")[0].message


def test_one_direction_alone():
    assert recorded("inbound-dropped").bad("NET001") == {"link/node0->node2", "link/node1->node2"}
    assert recorded("outbound-dropped").bad("NET001") == {"link/node2->node0", "link/node2->node1"}


def test_an_open_rendezvous_port_beside_closed_ones_is_well():
    assert recorded("only-rendezvous-port").worst("NET001") == "ok"


def test_a_probe_that_is_missing_is_unknown_and_not_well():
    found = judged("healthy", without(kind="probe", node="node1", peer="node2", port=29500), only=("NET001",))
    (gap,) = found.of("NET001", "unknown")
    assert str(gap.subject) == "link/node1->node2" and "not tried" in gap.message


def test_who_was_not_found_or_is_somebody_else_is_unknown():
    """Neither proves the dialled node's port to be closed."""
    for outcome in ("stranger", "name_unknown", "something-new"):
        change = with_fields({"outcome": outcome}, kind="probe", node="node1", peer="node2", port=29500)
        found = judged("healthy", change, only=("NET001",))
        assert [str(f.subject) for f in found.of("NET001", "unknown")] == ["link/node1->node2"]


def test_one_node_alone_is_a_skip():
    assert [f.status for f in recorded("healthy-1").of("NET001")] == ["skip"]


def test_a_node_that_told_nothing_is_unknown():
    found = judged("healthy", without(step="ports", node="node1"), only=("NET001",))
    assert [str(f.subject) for f in found.of("NET001", "unknown")] == ["node/node1"]
