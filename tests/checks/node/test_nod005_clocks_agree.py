"""NOD005 through the kernel, on recorded runs."""

from judged import judged, recorded


def shifted(name, seconds):
    """What probes to and from a node with such a clock would say."""

    def change(fields):
        if fields.get("clock_offset") is not None and fields["node"] != fields["peer"]:
            fields["clock_offset"] += seconds * ((fields["peer"] == name) - (fields["node"] == name))
        return fields

    return change


def test_processes_of_one_machine_agree():
    found = recorded("healthy")
    assert {f.status for f in found.of("NOD005")} == {"ok"}
    assert all(abs(f.value) < 1 for f in found.figures if f.name == "clock_offset")


def test_an_hour_is_seen_and_whose_it_is():
    (odd,) = recorded("clock-ahead").of("NOD005", "fail")
    assert str(odd.subject) == "node/node2" and 3590 < odd.measured < 3610
    assert "s ahead of most others'" in odd.message


def test_seconds_warn_and_what_the_measurement_may_be_wrong_by_does_not_count():
    (odd,) = judged("healthy", shifted("node1", -8.0), only=("NOD005",)).of("NOD005", "warn")
    assert str(odd.subject) == "node/node1" and "behind" in odd.message
    slow = lambda f: {**shifted("node1", 8.0)(f), "seconds": 20.0} if f["kind"] == "probe" else f  # noqa: E731
    assert {f.status for f in judged("healthy", slow, only=("NOD005",)).of("NOD005")} == {"ok"}


def test_no_connection_tells_no_clock():
    found = judged("healthy", lambda f: None if f["kind"] == "probe" else f, only=("NOD005",))
    assert {f.status for f in found.of("NOD005")} == {"unknown"}
