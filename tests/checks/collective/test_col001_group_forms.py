"""COL001 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields


def test_every_node_joins():
    found = recorded("healthy").of("COL001")
    assert {(f.status, f.measured, f.expected) for f in found} == {("ok", 3, 3)}


def test_an_interface_that_is_missing_keeps_all_out():
    found = recorded("interface-missing").of("COL001")
    assert {f.status for f in found} == {"fail"} and "eth9" in found[0].message


def test_a_node_that_is_left_out_is_unknown_with_the_reason():
    found = recorded("inbound-dropped")
    (out,) = found.of("COL001", "unknown")
    assert str(out.subject) == "node/node2" and "left out" in out.message and "does not reach node2" in out.message
    assert len(found.of("COL001", "ok")) == 2


def test_a_node_that_made_a_group_of_its_own_is_not_the_group():
    found = recorded("outbound-dropped")
    assert {f.expected for f in found.of("COL001", "ok")} == {2}


def test_where_nobody_tells_of_a_group_who_is_missing_from_it_is_not_known():
    """As in a bundle that is cut off before the coordinator's records."""
    found = judged("healthy-4", lambda fields: None if fields["kind"] == "group" else fields, only=("COL001",))
    assert {f.status for f in found.of("COL001")} == {"unknown"}


def test_a_rank_in_a_smaller_world_fails():
    change = with_fields({"world_size": 2}, step="collectives", kind="init", node="node1")
    assert judged("healthy", change, only=("COL001",)).bad("COL001") == {"node/node1"}
