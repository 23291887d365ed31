"""A GPU reads alike from every form that nvidia-smi prints; the recordings are of a real one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gonogo import registry
from gonogo.diagnose import diagnose
from gonogo.documents import nvidia
from gonogo.facts.objects import Objects, read_objects
from gonogo.facts.smi import smi_rows

RECORDED = Path(__file__).parents[3] / "shared/recordings/h200-1"
CSV = "pci.bus_id, mig.mode.current, pcie.link.width.current, pcie.link.width.max\n{bus}, Disabled, 16, 16\n"
FORMS = ("nvidia-smi-q.txt", "nvidia-smi-q.xml")


def rows(text: str):
    return list(smi_rows(Objects.made(read_objects("smi", text))))


@pytest.mark.parametrize("form", FORMS)
def test_a_recorded_gpu_reads_as_it_does_from_csv(form: str) -> None:
    (row,) = rows((RECORDED / form).read_text())
    (asked,) = rows(CSV.format(bus=row.gpu))
    assert {name: value.removesuffix("x") for name, value in row.values.items()} == dict(asked.values)
    assert row.number("pcie.link.width.current") == 16


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "query, was, now, cause",
    [
        ("pcie.link.width.current", "16x", "8x", "hardware.pcie_degraded"),
        ("pcie.link.width.current", "16x", "N/A", None),
        ("mig.mode.current", "Disabled", "Enabled", "gpu.mig_mode_unexpected"),
    ],
)
def test_what_differs_is_named_with_its_line(form: str, query: str, was: str, now: str, cause: str, tmp_path) -> None:
    text = (RECORDED / form).read_text()
    (row,) = rows(text)
    lines = text.splitlines(keepends=True)
    line = row.cite(query).line
    assert was in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(was, now)
    (tmp_path / form).write_text("".join(lines))
    (tmp_path / "rank0.log").write_text("RuntimeError: CUDA error: invalid device ordinal\n")
    report = diagnose(tmp_path, registry=registry.load_causes_of("gonogo.facts.events"))
    named = {d.cause: d for d in report.diagnoses}
    assert (cause in named) if cause else not {"hardware.pcie_degraded", "gpu.mig_mode_unexpected"} & {*named}
    assert not cause or (form, line) in {(e.file, e.line) for e in named[cause].evidence}


@pytest.mark.parametrize("form", FORMS)
def test_a_listing_that_is_cut_off_gives_what_it_can(form: str) -> None:
    text = (RECORDED / form).read_text()
    last = re.search(r"(?m)^.*(?:Link Width|current_link_width).*$", text)
    assert last
    (row,) = rows(text[: last.end()])
    assert row.values["mig.mode.current"] == "Disabled"


def test_hostile_xml_is_bounded() -> None:
    deep = '<gpu id="0">' + "<a>" * 100_000 + "</a>" * 200_000
    ((gpu, start, end),) = nvidia.gpus(deep)
    assert (start, end, gpu[""]) == (0, len(deep), "0")
    depth = 0
    while isinstance(gpu, dict) and "a" in gpu:
        gpu, depth = gpu["a"], depth + 1
    assert depth < 20
