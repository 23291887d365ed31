"""STO004 through the kernel, on recorded runs."""

from judged import judged, recorded, where


def lock(**change):
    def changed(fields):
        if where(fields, step="storage", kind="lock", node="node1", function="flock"):
            return {**fields, **change}
        return fields

    return changed


def test_locks_hold():
    found = recorded("healthy").of("STO004")
    assert {f.status for f in found} == {"ok"} and "flock, fcntl" in found[0].message


def test_a_lock_for_everybody_warns_and_so_does_a_lost_count():
    for change in (lock(excluded=False), lock(total=1)):
        (odd,) = judged("healthy", change, only=("STO004",)).of("STO004", "warn")
        assert "Locks by flock do not hold" in odd.message


def test_a_node_that_gets_a_lock_which_another_has_is_the_one_to_warn_of():
    found = recorded("storage-locks-ignored").of("STO004", "warn")
    assert [str(f.subject) for f in found] == ["node/node2"]
