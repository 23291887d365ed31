"""LNK002 through the kernel, on recorded runs."""

from judged import judged, recorded

from gonogo.plan import Plan


def floor(gbps):
    return Plan.model_validate({"expect": {"linkGbps": gbps}})


def test_equal_links_are_well_and_the_smallest_visible_loss_is_told():
    found = recorded("healthy-even-links")
    assert found.worst("LNK002") == "ok"
    figures = {f.name: f.value for f in found.figures}
    assert 0 < figures["smallest_visible_node_loss"] <= 0.75 and figures["smallest_link_margin"] > 0


def test_a_node_at_fifteen_percent_is_named_as_a_node():
    found = recorded("node-slow")
    bad = found.bad("LNK002")
    assert "node/node3" in bad and all("node3" in subject for subject in bad)
    assert {f.threshold_source for f in found.of("LNK002", "fail")} == {"peers"}


def test_the_plans_floor_counts_where_all_are_equally_slow():
    found = judged("healthy-even-links", plan=floor(100), only=("LNK002",))
    assert found.worst("LNK002") == "fail" and {f.expected for f in found.of("LNK002", "fail")} == {100.0}
    assert judged("healthy-even-links", plan=floor(0.1), only=("LNK002",)).worst("LNK002") == "ok"


def test_neither_a_floor_nor_three_peers_is_a_skip_with_a_figure():
    one = recorded("healthy").of("LNK001")[0].subject
    pair = {one.name, one.to}

    def one_pair(fields):
        if fields["step"] == "links" and not {fields.get("peer"), fields["node"]} <= pair:
            return None
        return {**fields, "pairs": []} if fields["kind"] == "plan" else fields

    found = judged("healthy", one_pair, only=("LNK002",))
    of_pair = [f for f in found.of("LNK002") if {f.subject.name, f.subject.to} - {""} <= pair]
    assert {f.status for f in of_pair} == {"skip"} and len(of_pair) == 4
    assert {f.status for f in found.of("LNK002") if f not in of_pair} == {"unknown"}
    assert {f.name for f in found.figures} == {"link_throughput"}


def test_a_node_that_had_no_cpu_is_a_warning_and_no_fault():
    def starve(fields):
        return {**fields, "waits": [0.99] * len(fields["slices"])} if fields.get("kind") == "throughput" else fields

    found = judged("node-slow", starve, only=("LNK002",))
    assert found.worst("LNK002") == "warn" and not found.diagnoses
    assert "with a CPU at every moment" in found.of("LNK002", "warn")[0].message


def test_links_that_carried_nothing_are_unknown():
    assert recorded("all-ports-dropped").worst("LNK002") == "unknown"


def test_links_between_nodes_that_a_level_does_not_pair_are_not_proven():
    first_look = lambda f: None if f["step"] == "links" and f.get("phase") == 2 else f  # noqa: E731
    told = judged("healthy-4", first_look, only=("LNK002",)).of("LNK002")
    (found,) = [f for f in told if f.subject.kind == "cluster"]
    assert found.status == "skip" and found.message.startswith("4 of 12 directions are not measured")
    assert not [f for f in recorded("healthy").of("LNK002") if f.subject.kind == "cluster"]
