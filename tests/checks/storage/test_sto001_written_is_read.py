"""STO001 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields, without


def test_what_is_written_is_read():
    assert {f.status for f in recorded("healthy").of("STO001")} == {"ok"}


def test_a_refusal_fails_with_its_errno():
    for bundle, errno in (("storage-full", "ENOSPC"), ("storage-without-inodes", "ENOSPC")):
        assert {f.measured for f in recorded(bundle).of("STO001", "fail")} == {errno}
    (odd,) = recorded("storage-read-only").of("STO001", "fail")
    assert (str(odd.subject), odd.measured) == ("node/node2", "EROFS")


def test_fewer_bytes_than_written_fail():
    found = judged("healthy", with_fields({"bytes": 1}, step="storage", kind="read", node="node1"), only=("STO001",))
    assert found.bad("STO001") == {"node/node1"}


def test_what_it_did_not_come_to_is_unknown():
    found = judged("healthy", without(step="storage", kind="read", node="node1"), only=("STO001",))
    assert [str(f.subject) for f in found.of("STO001", "unknown")] == ["node/node1"]


def test_without_any_path_there_is_nothing_to_judge():
    kinds = ("space", "failed", "write", "read", "small", "visible", "replaced", "lock", "checkpoint", "removed")
    found = judged("healthy", lambda f: None if f["step"] == "storage" and f["kind"] in kinds else f)
    assert {f.status for f in found.findings if f.check.startswith("STO")} == {"skip"}


def test_a_path_that_is_not_there_is_told_in_words_and_once():
    found = recorded("storage-path-missing")
    (message,) = {f.message.replace(f.subject.name, "NODE") for f in found.of("STO001")}
    assert message == "NODE can't use /nonexistent/fsx: it does not exist on NODE."
    assert "which does not exist there" in found.of("STO006")[0].message


def test_why_a_rank_did_not_look_is_said_without_a_reference_to_this_check():
    found = judged("nccl-without-gpu", only=("STO001", "STO002"))
    assert any("NCCL needs a CUDA device" in f.message for f in found.of("STO001"))
    assert {str(f.subject) for f in found.of("STO001")} == {"node/node0", "node/node1", "node/node2"}
    assert all("STO001" not in f.message for f in found.of("STO001"))
    assert [f.message for f in found.of("STO002")] == ["No node looked at storage (waits for STO001)."]
