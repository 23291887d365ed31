"""The few numbers that people look for first, out of all figures: one line a check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from gonogo.model import PREFIXES, Figure, Value
from gonogo.report.text import number

_SHARED = ("op", "ranks")
_SIZE = "bytes"
_TERMS = {
    "link_resent": "retransmitted",
    "smallest_link_margin": "smallest margin",
    "storage_free": "free space",
    "storage_read": "read throughput",
    "storage_visible_after": "visible to others after",
    "storage_write": "write throughput",
    "train_before_collective": "time before the collective",
    "train_exposed_share": "exposed share of the step",
}
"""What people call a figure whose name, without its area, says too little."""


def headlines(figures: Iterable[Figure], most: int = 3) -> list[str]:
    """`all_reduce, 4 ranks: busbw 0.35 GB/s at 64 MiB · alpha 6 ms`: the value at the largest size, or the spread.

    At most so many figures of one check.
    """
    by_check: dict[str, dict[str, list[Figure]]] = {}
    for figure in figures:
        by_check.setdefault(figure.check, {}).setdefault(figure.name, []).append(figure)
    return [_line(check, dict(list(by_name.items())[:most])) for check, by_name in by_check.items()]


def _line(check: str, by_name: Mapping[str, Sequence[Figure]]) -> str:
    first = next(iter(by_name.values()))[0]
    area = PREFIXES.get(check[:3], check)
    shared = [_coordinate(name, first.at[name]) for name in _SHARED if name in first.at]
    about = ", ".join(shared if "op" in first.at else [area, *shared])
    words = (f"{area}_", f"{first.at.get('op', area)}_")
    parts = (_value(_short(name, words), _largest(found)) for name, found in by_name.items())
    return f"{about}: {' · '.join(parts)}"


def _short(name: str, words: Iterable[str]) -> str:
    """The name in the field's terms, without what the line's beginning says."""
    if name in _TERMS:
        return _TERMS[name]
    for word in words:
        name = name.removeprefix(word)
    return name.replace("_", " ")


def _largest(figures: Sequence[Figure]) -> Sequence[Figure]:
    """Those at the largest size, where figures have one."""
    sizes = [v for f in figures if isinstance(v := f.at.get(_SIZE), int | float)]
    return [f for f in figures if f.at.get(_SIZE) == max(sizes)] if sizes else figures


def _value(name: str, figures: Sequence[Figure]) -> str:
    values = [f.value for f in figures]
    factor, unit = _unit(figures[0].unit, abs(median(values)))
    low, middle, high = (number(f(values) * factor) for f in (min, median, max))
    at = f" at {_coordinate(_SIZE, figures[0].at[_SIZE])}" if _SIZE in figures[0].at else ""
    spread = f" ({low} to {high} over {len(values)})" if len(values) > 1 else ""
    return f"{name} {middle}{unit}{at}{spread}"


def _unit(unit: str, largest: float) -> tuple[float, str]:
    """What to multiply by, and the unit as people write it."""
    if unit == "ratio":
        return 100.0, " %"
    if unit == "seconds":
        scales = ((1.0, 1.0, " s"), (1e-3, 1e3, " ms"), (0.0, 1e6, " µs"))
        return next((factor, name) for least, factor, name in scales if largest >= least or not least)
    if unit == "bytes":
        sizes = ((1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " bytes"))
        return next(((1 / size, name) for size, name in sizes if largest >= size), (1.0, " bytes"))
    return 1.0, f" {unit}" if unit else ""


def _coordinate(name: str, value: Value) -> str:
    if name == _SIZE and isinstance(value, int):
        for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
            if value >= size:
                return f"{value / size:.3g} {unit}"
    return str(value) if name == "op" else f"{value} {name}"
