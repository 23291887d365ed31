"""STO006 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields


def test_nearly_full_with_room_enough_is_well():
    for bundle in ("healthy", "healthy-storage-nearly-full"):
        assert {f.status for f in recorded(bundle).of("STO006")} == {"ok"}


def test_no_space_and_no_inodes_fail():
    for bundle in ("storage-full", "storage-without-inodes"):
        assert recorded(bundle).bad("STO006") == {"node/node0", "node/node1", "node/node2"}


def test_a_file_system_that_counts_no_inodes_has_some():
    change = with_fields({"inodes_total": 0, "inodes_free": 0}, step="storage", kind="space")
    assert {f.status for f in judged("healthy", change, only=("STO006",)).of("STO006")} == {"ok"}


def test_read_only_fails():
    (odd,) = recorded("storage-read-only").of("STO006", "fail")
    assert str(odd.subject) == "node/node2" and "(read-only)" in odd.message
