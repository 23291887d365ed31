"""LIM001 through the kernel, on recorded runs."""

from judged import judged, recorded


def limit(name, **limits):
    def change(fields):
        if fields["kind"] == "info" and fields["node"] == name:
            fields["limits"].update(limits)
        return fields

    return change


def test_the_usual_limit_is_enough():
    assert {f.status for f in recorded("healthy").of("LIM001")} == {"ok"}


def test_forty_files_are_too_few():
    (odd,) = recorded("few-descriptors").of("LIM001", "fail")
    assert str(odd.subject) == "node/node2" and odd.measured < 40
    assert "of 40 open files left, 78 needed for a job of 3 nodes" in odd.message


def test_no_limit_is_enough_and_an_untold_one_unknown():
    assert {f.status for f in judged("healthy", limit("node1", nofile=[-1, -1]), only=("LIM001",)).of("LIM001")} == {
        "ok"
    }
    found = judged("healthy", limit("node1", nofile=None), only=("LIM001",))
    assert [str(f.subject) for f in found.of("LIM001", "unknown")] == ["node/node1"]
