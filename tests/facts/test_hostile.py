"""Records from another version, cut off or forged: what can be read is read, and nothing crashes or turns green."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judged import judged, recorded, with_fields

from gonogo.model import Status

JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.floats(), st.text(max_size=8),
    st.lists(st.one_of(st.none(), st.text(max_size=3), st.integers()), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)  # fmt: skip
FIELDS = (
    "peer", "port", "outcome", "seconds", "answered_by", "seen_as", "addresses", "error", "ok", "bytes", "mss", "gbps",
    "slices", "round", "phase", "p50_seconds", "samples", "pairs", "members", "left_out", "rank", "world_size", "op",
    "wrong", "loss", "index", "sha256", "code", "signal", "reason", "interfaces", "versions", "limits", "environment",
    "nodes", "missing", "t", "hostname", "own_addresses", "role", "dtype", "text", "compute_seconds", "tried", "after",
    "conntrack", "processes", "port_range", "of_rank", "ranks_per_node", "local_rank",
)  # fmt: skip
BUNDLES = ("healthy", "two-faults", "node-frozen", "mtu-black-hole", "healthy-two-ranks")
slow = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def crashes(found):
    return [f.message for f in found.findings if "crashed" in f.message and f.traceback]


@given(st.sampled_from(BUNDLES), st.sampled_from(FIELDS), JUNK, st.integers(1, 5))
@slow
def test_junk_in_any_field_crashes_nothing(bundle, field, junk, every):
    count = iter(range(10**9))

    def spoil(fields):
        return {**fields, field: junk} if field in fields and next(count) % every == 0 else fields

    assert crashes(judged(bundle, spoil)) == []


@given(st.sampled_from(BUNDLES), st.sampled_from(FIELDS))
@slow
def test_a_missing_field_crashes_nothing(bundle, field):
    assert crashes(judged(bundle, lambda fields: {k: v for k, v in fields.items() if k != field})) == []


@given(st.integers(0, 120), st.sampled_from(["node0", "node1", "node2"]))
@slow
def test_a_log_that_is_cut_off_never_gains_a_green_subject(lines, name):
    """What a whole log leaves open, a shorter one can't prove."""
    written = iter(range(10**9))

    def cut(fields):
        return None if fields.get("node") == name and next(written) >= lines else fields

    def green(found):
        subjects = {}
        for f in found.findings:
            subjects.setdefault((f.check, f.subject), []).append(f.status)
        return {key for key, statuses in subjects.items() if set(statuses) == {Status.OK}}

    for bundle in ("healthy", "inbound-dropped"):
        assert green(judged(bundle, cut)) <= green(recorded(bundle))


def test_a_log_that_is_cut_off_leaves_unknowns():
    found = judged("healthy", lambda fields: None if fields["node"] == "node1" else fields)
    assert "GO" not in {f.status for f in found.findings}
    unknown = {
        f.check for f in found.of("NOD001", "unknown") + found.of("NET001", "unknown") + found.of("COL001", "unknown")
    }
    assert unknown == {"NOD001", "NET001", "COL001"}


@pytest.mark.parametrize("field", ["conntrack", "processes", "port_range"])
@pytest.mark.parametrize(
    "junk", [["a", 1], [1, "a"], [1, [2]], [1, {}], [float("nan"), 5], [1], [1, 2, 3], [-1, 5], {}, 7]
)
def test_a_list_of_wrong_things_is_an_unknown_and_no_crash(field, junk):
    check = {"conntrack": "LIM005", "processes": "LIM003", "port_range": "LIM004"}[field]
    change = with_fields({field: junk}, step="node", kind="info", node="node1")
    found = judged("healthy", change, only=(check,))
    assert crashes(found) == []
    (of_node1,) = (f for f in found.of(check) if f.subject.name == "node1")
    assert of_node1.status is Status.UNKNOWN


@pytest.mark.parametrize("loss", [1e308, -1e308, float("inf"), 1e-320])
def test_a_loss_beyond_numbers_crashes_nothing(loss):
    assert crashes(judged("healthy", with_fields({"loss": loss}, step="train", kind="step"))) == []


@pytest.mark.parametrize("gbps", [1e-320, 1e-30, 1e30, -1.0, 0.0])
def test_a_rate_beyond_numbers_crashes_nothing(gbps):
    assert crashes(judged("healthy", with_fields({"gbps": gbps}, step="links", node="node1"))) == []
