"""STO003 through the kernel, on recorded runs."""

import pytest
from judged import judged, recorded, with_fields


def test_a_rename_is_one_act():
    assert {f.status for f in recorded("healthy").of("STO003")} == {"ok"}


@pytest.mark.parametrize(("fields", "status"), [({"missing": 2}, "warn"), ({"torn": 1}, "fail")])
def test_missing_warns_and_torn_fails(fields, status):
    change = with_fields(fields, step="storage", kind="replaced", node="node1")
    found = judged("healthy", change, only=("STO003",))
    assert [str(f.subject) for f in found.of("STO003", status)] == ["node/node1"]


def test_a_file_that_never_was_seen_is_no_rename():
    assert not recorded("storage-not-shared").of("STO003", "fail", "warn")


def test_a_file_that_is_copied_over_instead_of_renamed_is_seen_in_part():
    assert recorded("storage-rename-torn").bad("STO003") == {"node/node1"}  # who read node2's file
