"""NOD004 through the kernel, on recorded runs."""

from judged import judged, recorded

from gonogo.plan import Plan


def shrink(name):
    def change(fields):
        if fields["kind"] == "info" and fields["node"] == name:
            for interface in fields["interfaces"]:
                interface["mtu"] = 1500 if interface["name"] == "eth0" else interface["mtu"]
        return fields

    return change


def test_one_mtu_everywhere_is_well_whatever_it_is():
    for bundle, mtu in (("healthy", 9001), ("healthy-mtu-1500", 1500)):
        found = recorded(bundle).of("NOD004")
        assert {(f.status, f.measured) for f in found} == {("ok", mtu)}


def test_a_node_that_differs_from_most_warns():
    found = judged("healthy", shrink("node1"), only=("NOD004",))
    (odd,) = found.of("NOD004", "warn")
    assert str(odd.subject) == "node/node1" and (odd.measured, odd.expected) == (1500, 9001)
    assert odd.threshold_source == "most nodes"


def test_the_plan_goes_before_the_majority():
    found = judged("healthy", plan=Plan.model_validate({"fabric": {"mtu": 1500}}), only=("NOD004",))
    assert {(f.status, f.expected, f.threshold_source) for f in found.of("NOD004")} == {("warn", 1500, "plan")}


def test_a_node_of_another_mtu_is_warned_of():
    (found,) = recorded("mtu-differs").of("NOD004", "warn")
    assert str(found.subject) == "node/node2" and "MTU 1500, 9001 expected" in found.message
