"""LNK003 through the kernel, on recorded runs."""

from judged import judged, recorded, without


def test_equal_links_are_well_and_have_figures():
    found = recorded("healthy")
    assert found.worst("LNK003") == "ok"
    assert {f.name for f in found.figures if f.check == "LNK003"} == {"link_latency_p50", "link_latency_p99"}


def test_ten_milliseconds_each_way_are_seen():
    found = recorded("latency-high")
    assert found.bad("LNK003") and all("node3" in subject for subject in found.bad("LNK003"))
    assert all(f.measured > 0.015 for f in found.of("LNK003", "fail"))


def test_an_untold_round_trip_is_unknown():
    found = judged("healthy", without(step="links", kind="latency", node="node0"), only=("LNK003",))
    assert found.of("LNK003", "unknown") and all(f.subject.name == "node0" for f in found.of("LNK003", "unknown"))


def test_late_round_trips_have_a_cause_where_bytes_were_slow_for_want_of_a_cpu():
    def starve(fields):
        return {**fields, "waits": [0.99] * len(fields["slices"])} if fields.get("kind") == "throughput" else fields

    found = judged("latency-high", starve, only=("LNK002", "LNK003"))
    assert [d.cause for d in found.diagnoses] == ["network.latency_high"]
