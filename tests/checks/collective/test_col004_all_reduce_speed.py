"""COL004 through the kernel, on recorded runs."""

from judged import judged, recorded

from gonogo.plan import Plan


def expect(busbw):
    return Plan.model_validate({"expect": {"allReduceBusbw": busbw}})


def test_without_a_plan_it_is_a_figure_and_a_skip():
    found = recorded("healthy")
    (told,) = found.of("COL004")
    assert told.status == "skip" and "GB/s" in told.message and "the links allow" in told.message
    assert {"busbw", "all_reduce_alpha"} <= {f.name for f in found.figures}
    assert {f.at["bytes"] for f in found.figures if f.name == "busbw"} >= {1 << 10, 16 << 20}


def test_the_plan_decides():
    for floor, status in ((1e-3, "ok"), (1e3, "fail")):
        (told,) = judged("healthy", plan=expect(floor), only=("COL004",)).of("COL004")
        assert (told.status, told.expected, told.threshold_source) == (status, floor, "plan")


def test_no_curve_is_unknown():
    assert recorded("rendezvous-port-dropped").worst("COL004") == "unknown"
