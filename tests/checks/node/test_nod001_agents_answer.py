"""NOD001 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields, without


def test_every_node_says_what_it_is():
    found = recorded("healthy").of("NOD001")
    assert {f.status for f in found} == {"ok"} and len(found) == 3
    assert "2 CPUs" in found[0].message or " CPUs" in found[0].message
    assert found[0].evidence[0].file == "agents/node0.jsonl"


def test_a_silent_node_is_unknown_and_named():
    found = judged("healthy", without(step="node", kind="info", node="node1"), only=("NOD001",))
    assert [str(f.subject) for f in found.of("NOD001", "unknown")] == ["node/node1"]
    assert len(found.of("NOD001", "ok")) == 2


def test_fields_of_another_version_are_no_crash():
    """An agent that tells less, or otherwise, still answers."""
    strange = {"cpus": "many", "memory_bytes": None, "versions": [], "interfaces": ["eth0"], "limits": 3}
    found = judged("healthy", with_fields(strange, step="node", kind="info"), only=("NOD001",))
    assert {f.status for f in found.of("NOD001")} == {"ok"}
