"""JOB003 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields


def test_ranks_that_end_well_made_the_same_calls():
    (found,) = recorded("healthy").of("JOB003")
    assert found.status == "ok" and "6 of 6 ranks" in found.message


def test_another_call_is_the_ones_who_made_it():
    (found,) = recorded("another-collective").of("JOB003", "fail")
    assert str(found.subject) == "node/node2" and "broadcast" in found.message and "all_reduce" in found.message


def test_a_message_of_another_size_is_the_ones_whom_all_others_contradict():
    for bundle in ("another-shape", "call-skipped"):
        (found,) = recorded(bundle).of("JOB003", "fail")
        assert str(found.subject) == "node/node2" and found.measured != found.expected


def test_two_ranks_that_differ_name_nobody():
    only_two = lambda f: None if (f["node"], f["kind"]) == ("node1", "calls") else f  # noqa: E731
    found = judged("another-collective", only_two, only=("JOB003",)).of("JOB003", "fail")
    assert {str(f.subject) for f in found} == {"cluster"}


def test_a_rank_that_ended_otherwise_is_unknown():
    change = with_fields({"code": 1}, step="train", kind="exit", node="node1")
    (found,) = judged("healthy", change).of("JOB003")
    assert found.status == "unknown"


def test_a_rank_whose_data_end_early_is_named():
    (found,) = recorded("one-batch-fewer").of("JOB003", "fail")
    assert str(found.subject) == "node/node2" and "after 9 of 10 batches" in found.message


def test_data_that_end_early_on_all_ranks_are_no_difference():
    ended = with_fields(
        {"type": "DataEnded", "text": "the data ended after 9 of 10 batches"}, step="train", kind="error"
    )
    assert judged("one-batch-fewer", ended, only=("JOB003", "TRN001")).worst("JOB003") == "unknown"


def test_types_of_equal_size_are_told_apart_though_no_rank_fails():
    (found,) = recorded("another-dtype").of("JOB003", "fail")
    assert str(found.subject) == "node/node2" and "Int on node2" in found.message
    assert recorded("wrong-sum").worst("JOB003") == "ok"
