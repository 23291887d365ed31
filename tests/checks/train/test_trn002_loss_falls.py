"""TRN002 through the kernel, on recorded runs."""

import pytest
from judged import judged, recorded, without


def loss(name, value):
    def change(fields):
        if fields["step"] == "train" and fields["kind"] == "step" and fields["node"] == name:
            fields["loss"] = value(fields["index"])
        return fields

    return change


def test_it_falls_on_every_rank():
    found = recorded("healthy").of("TRN002")
    assert {f.status for f in found} == {"ok"} and all(f.measured < f.expected for f in found)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "NaN"])
def test_one_step_that_is_not_finite_fails(bad):
    found = judged("healthy", loss("node1", lambda i: bad if i == 4 else 2.0 - i / 100), only=("TRN002",))
    (wrong,) = found.of("TRN002", "fail")
    assert str(wrong.subject) == "node/node1" and "in step 4" in wrong.message


def test_a_loss_that_rises_or_stays_fails():
    for value in (lambda i: 1.0 + i, lambda i: 1.0):
        assert judged("healthy", loss("node1", value), only=("TRN002",)).bad("TRN002") == {"node/node1"}


def test_too_few_steps_are_unknown():
    found = judged("healthy", without(step="train", kind="step", node="node1"), only=("TRN002",))
    assert [str(f.subject) for f in found.of("TRN002", "unknown")] == ["node/node1"]


def test_a_loss_that_is_no_number_fails_on_all_ranks():
    found = recorded("loss-not-finite").of("TRN002", "fail")
    assert len(found) == 3 and all("nan in step 3" in f.message for f in found)
