"""STO002 through the kernel, on recorded runs."""

from judged import judged, recorded, with_fields

from gonogo.plan import Plan


def test_all_see_all():
    found = recorded("healthy").of("STO002")
    assert {f.status for f in found} == {"ok"} and "2 of 2 other nodes" in found[0].message


def test_a_folder_of_its_own_is_seen_by_everybody():
    assert recorded("storage-not-shared").bad("STO002") == {"node/node0", "node/node1", "node/node2"}


def test_other_content_fails():
    change = with_fields({"wrong_blocks": {"node0": 3}}, step="storage", kind="visible", node="node1")
    found = judged("healthy", change, only=("STO002",))
    assert found.bad("STO002") == {"node/node1"} and "wrong content from node0" in found.of("STO002", "fail")[0].message


def test_a_path_that_is_not_meant_to_be_shared_is_not_judged():
    plan = Plan.model_validate({"storage": [{"path": "/mnt/shared", "shared": False}]})
    found = judged("storage-not-shared", plan=plan)
    assert {f.status for f in found.of("STO002")} == {"skip"}
    assert "storage.checkpoint_not_shared" not in {d.cause for d in found.raw}
