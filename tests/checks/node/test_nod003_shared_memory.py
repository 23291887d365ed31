"""NOD003 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields


def test_a_gibibyte_is_enough():
    assert {f.status for f in recorded("healthy").of("NOD003")} == {"ok"}


def test_less_than_a_containers_default_warns():
    found = recorded("shm-small").of("NOD003")
    assert {f.status for f in found} == {"warn"}
    assert "of 32 MiB of /dev/shm free" in found[0].message


def test_a_full_one_warns_whatever_its_size():
    found = judged("healthy", with_fields({"shm_free_bytes": 1 << 20}, step="node", node="node1"), only=("NOD003",))
    assert [str(f.subject) for f in found.of("NOD003", "warn")] == ["node/node1"]


def test_an_untold_size_is_unknown():
    found = judged("healthy", with_fields({"shm_bytes": None}, step="node", node="node1"), only=("NOD003",))
    assert [str(f.subject) for f in found.of("NOD003", "unknown")] == ["node/node1"]
