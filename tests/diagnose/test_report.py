"""What a report says besides root causes: what was not seen, and of what kind an unexplained line is."""

import io
from pathlib import Path

import pytest

from gonogo import registry
from gonogo.diagnose import diagnose
from gonogo.model import Report, Verdict
from gonogo.report.verdict import reason

SOCKETS = "w{0}:5:5 [0] NCCL INFO Using network Socket\n"
VIA = "w{0}:5:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n"
DONE = "step 30 loss 8.77\n"
NODES = '{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1"}, "status": {"allocatable": {}}}'


def diagnosed(folder: Path, **files: str) -> Report:
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    return diagnose(folder, registry=registry.load_causes_of("gonogo.facts.events"))


def unseen(report: Report) -> list[str]:
    return [claim.text for claim in report.coverage.not_proven]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"w0": SOCKETS.format(0) + VIA.format(0) + DONE}, True),
        ({"w0": SOCKETS.format(0) + DONE, "w1": SOCKETS.format(1) + DONE}, True),
        ({"w0": SOCKETS.format(0) + DONE}, False),  # one node: nothing goes between nodes
        ({"w0": SOCKETS.format(0) + VIA.format(0) + DONE, "nodes": NODES}, False),
    ],
)
def test_nobody_said_whether_sockets_are_the_right_fabric(files: dict[str, str], said: bool, tmp_path: Path) -> None:
    report = diagnosed(tmp_path, **files)
    assert report.verdict is Verdict.NOTHING_FOUND and ("the right fabric" in unseen(report)) is said


def test_a_line_of_no_known_kind_that_leaves_it_open_is_shown(tmp_path: Path) -> None:
    report = diagnosed(tmp_path, log="all is well\nERROR the flux capacitor has no charge\n")
    (finding,) = report.findings
    assert report.verdict is Verdict.DIAGNOSE_UNDECIDED and finding.evidence[0].line == 2
    assert "log.txt:2: ERROR the flux capacitor" in finding.message


def test_a_line_of_two_kinds_is_one_move(tmp_path: Path) -> None:
    line = "2024-05-01T10:00:00Z RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
    report = diagnosed(tmp_path, log=f"{line}\n")
    assert len({key.check for d in report.diagnoses for key in d.explains}) == 2
    assert sum(line in claim.text for claim in report.coverage.proven) == 1


@pytest.mark.parametrize(
    "text, lines, verdict",
    [
        ("", 0, Verdict.DIAGNOSE_UNDECIDED),
        ("step 1", 1, Verdict.NOTHING_FOUND),
        ("step 1\n", 1, Verdict.NOTHING_FOUND),
        (
            'step 1\n{"kind": "Pod", "metadata": {"name": "a"}, "status": {"phase": "Running"}}',
            2,
            Verdict.NOTHING_FOUND,
        ),
    ],
)
def test_a_last_line_without_its_end_was_read_too(text: str, lines: int, verdict: Verdict, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(text)
    report = diagnose(tmp_path, registry=registry.load_causes_of("gonogo.facts.events"))
    assert report.verdict is verdict
    assert f", {lines} line{'' if lines == 1 else 's'}" in report.target.summary


def test_what_was_read_until_ctrl_c_is_not_called_too_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if data := super().read(size):
                return data
            raise KeyboardInterrupt

    text = b"step 1 loss 0.5\n" * 2_000_000  # more than is read at once
    known = registry.load_causes_of("gonogo.facts.events")
    report = diagnose(None, registry=known, stdin=Interrupted(text))
    assert report.verdict is Verdict.DIAGNOSE_UNDECIDED and report.run.interrupted
    assert reason(report) == "nothing that was read until then says that something broke"
