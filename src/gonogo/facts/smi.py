"""What nvidia-smi prints as CSV, with -q, and as XML: a row a GPU, by the names of its queries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from gonogo.facts.objects import Object, Objects
from gonogo.model import Evidence

_UNIT = re.compile(r"\s*\[[^\]]*\]$")

_TOLD: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "mig.mode.current": (("MIG Mode", "Current"), ("mig_mode", "current_mig")),
    "pcie.link.width.current": (
        ("PCI", "GPU Link Info", "Link Width", "Current"),
        ("pci", "pci_gpu_link_info", "link_widths", "current_link_width"),
    ),
    "pcie.link.width.max": (
        ("PCI", "GPU Link Info", "Link Width", "Max"),
        ("pci", "pci_gpu_link_info", "link_widths", "max_link_width"),
    ),
}
"""Query -> where -q and XML tell it."""


@dataclass(frozen=True, slots=True)
class SmiRow:
    """One GPU: query -> value, without units; and what proves one of them."""

    values: Mapping[str, str]
    cite: Callable[[str], Evidence]

    def number(self, name: str) -> float | None:
        """The value as a number; None where it is none, or was not asked for."""
        found = re.match(r"-?\d+(?:\.\d+)?", self.values.get(name, ""))
        return float(found[0]) if found else None

    @property
    def gpu(self) -> str:
        """Its index or bus address, as far as one was asked for."""
        return next((self.values[k] for k in ("index", "gpu_bus_id", "pci.bus_id", "uuid") if k in self.values), "")


def smi_rows(objects: Objects) -> Iterator[SmiRow]:
    """The rows of all tables whose columns are nvidia-smi's, and of all GPUs that it listed."""
    for table in objects.of("csv"):
        yield from _rows(table)
    for gpu in objects.of("nvidia-smi"):
        yield _row(gpu)


def _rows(table: Object) -> Iterator[SmiRow]:
    columns = [_UNIT.sub("", str(c)).strip() for c in table.items("columns")]
    if not any("." in c for c in columns):
        return
    for i, row in enumerate(table.items("rows")):
        values = dict(zip(columns, map(str, row), strict=False))
        yield SmiRow(values, lambda name, i=i: table.cite(("rows", i)))  # type: ignore[misc]


def _row(gpu: Object) -> SmiRow:
    places = {query: path for query, paths in _TOLD.items() for path in paths if isinstance(gpu.get(path), str)}
    values = {query: str(gpu.get(path)) for query, path in places.items()}
    return SmiRow({"pci.bus_id": str(gpu.get(("",), ""))} | values, lambda q: gpu.cite(places[q]))
