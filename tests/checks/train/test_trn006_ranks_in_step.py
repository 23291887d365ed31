"""TRN006 through the kernel, on recorded runs."""

from judged import HEALTHY, judged, recorded, where


def late(name, seconds, waits=0.001, look=0):
    """That rank takes so long in each step, and the others wait for it."""

    def change(fields):
        if not where(fields, step="train", kind="step") or fields.get("look", 0) != look:
            return fields
        if fields["node"] != name:
            return {**fields, "sync_seconds": fields["sync_seconds"] + seconds}
        return {**fields, "before_collective_seconds": seconds, "sync_seconds": waits}

    return change


def test_ranks_of_one_busy_machine_are_in_step():
    for bundle in HEALTHY:
        assert {f.status for f in recorded(bundle).of("TRN006")} <= {"ok", "skip"}


def test_a_rank_whose_steps_or_data_take_longer_is_late():
    for bundle in ("steps-late", "data-late"):
        (odd,) = recorded(bundle).of("TRN006", "fail")
        assert str(odd.subject) == "node/node2" and "looks" in odd.message
        assert odd.measured > odd.expected


def test_the_one_that_comes_last_and_waits_least_is_late():
    (odd,) = judged("healthy", late("node1", 2.0), only=("TRN006",)).of("TRN006", "fail")
    assert str(odd.subject) == "node/node1" and "ms until its first collective" in odd.message


def test_one_that_waits_as_long_as_the_others_is_none():
    assert not judged("healthy", late("node1", 2.0, waits=5.0), only=("TRN006",)).of("TRN006", "fail")


def test_one_that_is_fast_at_another_look_is_none():
    def once(fields):
        if where(fields, step="train", kind="step", look=0, node="node2"):
            return {**fields, "data_seconds": 0.0, "before_collective_seconds": 0.01}
        return fields

    assert not judged("steps-late", once, only=("TRN006",)).of("TRN006", "fail")


def test_no_steps_are_unknown():
    found = judged("healthy", lambda f: None if f["kind"] == "step" else f, only=("TRN006",))
    assert {f.status for f in found.of("TRN006")} == {"unknown"}
