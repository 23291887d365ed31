"""TRN004 through the kernel, on recorded runs."""

from judged import judged, recorded, without


def test_it_is_a_figure_and_no_verdict():
    found = recorded("healthy")
    (told,) = found.of("TRN004")
    assert told.status == "skip" and 0 < told.measured < 1
    figures = {f.name: f.value for f in found.figures if f.check == "TRN004"}
    total = figures["train_compute"] + figures["train_exposed_communication"]
    assert abs(figures["train_exposed_share"] - figures["train_exposed_communication"] / total) < 1e-9


def test_steps_tell_it_where_no_summary_does():
    found = judged("healthy", without(step="train", kind="summary"), only=("TRN004",))
    assert found.of("TRN004")[0].status == "skip" and len(found.figures) == 3


def test_without_steps_it_is_unknown():
    assert recorded("rendezvous-port-dropped").worst("TRN004") == "unknown"
