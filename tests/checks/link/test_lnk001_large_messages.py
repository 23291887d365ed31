"""LNK001 through the kernel, on recorded runs."""

from judged import judged, recorded, without


def test_all_sizes_pass_at_any_mtu_that_is_right():
    for bundle in ("healthy", "healthy-mtu-1500"):
        found = recorded(bundle).of("LNK001")
        assert {f.status for f in found} == {"ok"} and "up to 1 MiB" in found[0].message


def test_large_messages_vanish_on_the_links_of_one_node():
    found = recorded("mtu-black-hole")
    assert found.bad("LNK001") and all("node2" in subject for subject in found.bad("LNK001"))
    assert {f.measured for f in found.of("LNK001", "fail")} == {1400}


def test_links_that_nobody_could_try_are_unknown():
    assert recorded("all-ports-dropped").worst("LNK001") == "unknown"
    assert [f.status for f in recorded("healthy-1").of("LNK001")] == ["skip"]


def test_a_link_without_messages_is_unknown():
    measured = recorded("healthy").of("LNK001")[0].subject
    silent = without(step="links", kind="message", node=measured.name, peer=measured.to)
    assert [f.subject for f in judged("healthy", silent, only=("LNK001",)).of("LNK001", "unknown")] == [measured]
