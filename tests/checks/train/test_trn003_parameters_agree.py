"""TRN003 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields, without


def test_all_ranks_agree():
    (found,) = recorded("healthy").of("TRN003")
    assert (found.status, found.measured, found.expected) == ("ok", 3, 3)


def test_one_that_differs_is_named():
    found = judged("healthy", with_fields({"sha256": "0" * 64}, kind="parameters", node="node1"), only=("TRN003",))
    assert found.bad("TRN003") == {"cluster", "node/node1"}


def test_without_a_majority_nobody_is_named():
    def change(fields):
        return {**fields, "sha256": fields["node"].encode().hex() * 8} if fields["kind"] == "parameters" else fields

    assert judged("healthy", change, only=("TRN003",)).bad("TRN003") == {"cluster"}


def test_one_that_says_nothing_is_no_pass():
    found = judged("healthy", without(kind="parameters", node="node1"), only=("TRN003",))
    assert [f.status for f in found.of("TRN003")] == ["unknown"]


def test_one_rank_alone_is_a_skip():
    assert [f.status for f in recorded("healthy-1").of("TRN003")] == ["skip"]


def test_a_rank_that_computes_wrong_is_named():
    assert recorded("parameters-astray").bad("TRN003") == {"cluster", "node/node2"}
