"""SFT001 through the kernel, on recorded runs."""

from judged import judged, recorded


def version(name, **versions):
    def change(fields):
        if fields["kind"] == "info" and fields["node"] == name:
            fields["versions"].update(versions)
        return fields

    return change


def test_one_image_everywhere():
    found = recorded("healthy").of("SFT001")
    assert {f.status for f in found} == {"ok"}
    assert "torch 2." in found[0].message


def test_another_framework_on_one_node_fails():
    found = judged("healthy", version("node1", torch="2.9.0"), only=("SFT001",))
    (odd,) = found.of("SFT001", "fail")
    assert str(odd.subject) == "node/node1"
    assert "torch 2.9.0" in odd.message and "most nodes torch 2.13" in odd.message


def test_another_python_alone_warns():
    found = judged("healthy", version("node1", python="3.10.2"), only=("SFT001",))
    assert [str(f.subject) for f in found.of("SFT001", "warn")] == ["node/node1"] and not found.of("SFT001", "fail")
