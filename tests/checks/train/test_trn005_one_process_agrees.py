"""TRN005 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields, without


def test_one_process_finds_the_same_losses():
    (found,) = recorded("healthy").of("TRN005")
    assert found.status == "ok" and found.measured <= found.expected


def test_another_loss_fails_and_so_does_none():
    for value in (0.2, "nan"):
        change = with_fields({"max_difference": value}, step="train", kind="reproduction")
        (found,) = judged("healthy", change, only=("TRN005",)).of("TRN005")
        assert found.status == "fail"


def test_no_reproduction_is_unknown():
    (found,) = judged("healthy", without(step="train", kind="reproduction"), only=("TRN005",)).of("TRN005")
    assert found.status == "unknown"


def test_a_wrong_average_gives_other_losses_than_one_process_finds():
    assert recorded("wrong-average").bad("TRN005") == {"cluster"}
