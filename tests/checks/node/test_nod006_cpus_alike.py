"""NOD006 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields


def test_one_machine_has_one_number():
    assert {f.status for f in recorded("healthy").of("NOD006")} == {"ok"}


def test_a_fifth_of_a_cpu_fails():
    (odd,) = recorded("little-cpu").of("NOD006", "fail")
    assert str(odd.subject) == "node/node2" and odd.measured == 0.2 and "quota" in odd.message


def test_one_cpu_of_two_more_warns():
    found = judged("healthy", with_fields({"cpus": 3}, step="node", kind="info", node="node1"), only=("NOD006",))
    assert [str(f.subject) for f in found.of("NOD006", "warn")] == ["node/node1"]
