"""NET002 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields


def test_every_ordered_pair_connects_on_four_ports():
    found = recorded("healthy").of("NET002")
    assert {f.status for f in found} == {"ok"} and {(f.measured, f.expected) for f in found} == {(4, 4)}


def test_an_open_rendezvous_port_proves_nothing_for_the_others():
    found = recorded("only-rendezvous-port")
    assert len(found.bad("NET002")) == 6
    assert "0 of 4 ports (29400, 35017, 43019, 51001: no answer within 3 s)" in found.of("NET002")[0].message


def test_a_pair_that_is_cut_is_cut_in_both_directions():
    assert recorded("pair-dropped").bad("NET002") == {"link/node1->node2", "link/node2->node1"}


def test_a_node_that_never_listened_refuses():
    found = recorded("node-frozen-in-ports")
    assert found.bad("NET002") == {"link/node0->node2", "link/node1->node2"}
    assert "refused" in found.of("NET002", "fail")[0].message


def test_a_port_that_is_accepted_by_the_kernel_alone_fails():
    mute = with_fields({"outcome": "mute", "seconds": 3.0}, kind="probe", node="node0", peer="node2")
    found = judged("healthy", mute, only=("NET002",))
    assert found.bad("NET002") == {"link/node0->node2"}
    assert "accepted, then nothing said" in found.of("NET002", "fail")[0].message
