"""STO005 through the kernel, on recorded runs."""

from judged import judged, recorded, where


def test_a_checkpoint_comes_back_equal():
    found = recorded("healthy")
    assert {f.status for f in found.of("STO005")} == {"ok"}
    assert {f.name for f in found.figures if f.check == "STO005"} == {
        "checkpoint_save",
        "checkpoint_load",
    }


def test_one_that_is_not_shared_does_not():
    found = recorded("storage-not-shared").of("STO005", "fail")
    assert found and all("not equal" in f.message for f in found)


def test_what_the_image_lacks_is_a_skip():
    def lacking(fields):
        if where(fields, step="storage", kind="checkpoint"):
            return {**fields, "kind": "unsupported", "op": "checkpoint", "text": "It needs NumPy: not installed."}
        return fields

    assert {f.status for f in judged("healthy", lacking, only=("STO005",)).of("STO005")} == {"skip"}
