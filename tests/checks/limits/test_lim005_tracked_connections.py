"""LIM005 through the kernel, on recorded runs, with the use of the table changed: its size is the whole machine's."""

import pytest
from judged import judged, recorded, with_fields


def test_a_table_with_room_is_well():
    assert {f.status for f in recorded("healthy").of("LIM005")} <= {"ok", "skip"}


@pytest.mark.parametrize(("used", "status"), [(1000, "ok"), (52_500, "warn"), (64_000, "fail")])
def test_how_full_it_is_decides(used, status):
    change = with_fields({"conntrack": [used, 65_536]}, step="node", kind="info", node="node1")
    (odd,) = [f for f in judged("healthy", change, only=("LIM005",)).of("LIM005") if f.subject.name == "node1"]
    assert odd.status == status and f"{used} of at most 65536" in odd.message


def test_where_nothing_is_tracked_it_does_not_apply_and_untold_is_unknown():
    for value, status in (([None, None], "skip"), (None, "unknown")):
        change = with_fields({"conntrack": value}, step="node", kind="info")
        assert {f.status for f in judged("healthy", change, only=("LIM005",)).of("LIM005")} == {status}


def test_a_full_table_fails():
    assert recorded("conntrack-full").bad("LIM005") == {"node/node2"}
