"""NET004 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields


def test_everybody_answers_for_themselves():
    assert {f.status for f in recorded("healthy").of("NET004")} == {"ok"}


def test_another_node_that_answers_is_named():
    (found,) = recorded("coordinator-name-wrong").of("NET004", "fail")
    assert str(found.subject) == "link/node2->node0" and "node1 on the others" in found.message


def test_a_name_in_the_answer_counts_even_where_the_probe_was_content():
    change = with_fields({"answered_by": "node0"}, kind="probe", node="node1", peer="node2", port=29400)
    assert judged("healthy", change, only=("NET004",)).bad("NET004") == {"link/node1->node2"}


def test_what_nobody_answered_waits():
    found = recorded("all-ports-dropped").of("NET004")
    assert {f.status for f in found} == {"skip"} and "waits for NET001" in found[0].message
