"""LIM002 through the kernel, on recorded runs."""

from judged import judged, recorded

from gonogo.plan import Plan


def test_one_limit_everywhere_is_no_matter_over_tcp():
    assert {f.status for f in recorded("healthy").of("LIM002")} == {"ok"}


def test_a_node_with_less_than_most_warns():
    (odd,) = recorded("little-locked-memory").of("LIM002", "warn")
    assert str(odd.subject) == "node/node2" and odd.measured == 64 << 10
    assert "may lock 64 KiB" in odd.message


def test_efa_needs_it_unlimited_on_all():
    plan = Plan.model_validate({"fabric": {"kind": "efa"}})
    found = judged("healthy", plan=plan, only=("LIM002",)).of("LIM002")
    assert {f.status for f in found} == {"warn"} and found[0].threshold_source == "plan: EFA needs no limit"
