"""Reading fields of records that may come from another version, be cut off, or be forged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from gonogo.documents.records import Record, StepLog
from gonogo.kernel import Lost
from gonogo.model import Subject

T = TypeVar("T")


def records(log: StepLog, step: str, *kinds: str) -> Iterator[Record]:
    """The records of one step and of these kinds, in the order in which they came."""
    return (r for r in log.records if r.get("step") == step and r.get("kind") in kinds)


def by_node(log: StepLog, step: str, *kinds: str) -> dict[str, list[Record]]:
    """The same, by writer; every expected node has an entry."""
    found: dict[str, list[Record]] = {name: [] for name in log.nodes}
    for record in records(log, step, *kinds):
        found.get(text(record, "node"), []).append(record)
    return found


def text(source: Record | Mapping[str, Any], key: str, default: str = "") -> str:
    """A string, or the default where it is missing or something else."""
    value = source.get(key)
    return value if isinstance(value, str) else default


def number(source: Record | Mapping[str, Any], key: str) -> float | None:
    """A finite number, or None; what is beyond any quantity that is measured here is none."""
    return _number(source.get(key))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e18 or not math.isfinite(value):
        return None
    return float(value) if abs(value) > 1e-18 else 0.0


def measurement(source: Record | Mapping[str, Any], key: str) -> float | None:
    """A number as it was measured: NaN and the infinities are values, not gaps."""
    value = source.get(key)
    if isinstance(value, str) and value.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return float(value)
    if isinstance(value, float):
        return value if math.isnan(value) or abs(value) < 1e300 else math.copysign(math.inf, value)
    return number(source, key)


def wholes(source: Record | Mapping[str, Any], key: str, count: int, least: int = 0) -> tuple[int | None, ...] | None:
    """Whole numbers of a list of this length, None for those that are not told; None for what is no such list."""
    found = items(source, key)
    numbers = [_number(item) for item in found]
    wrong = (item is not None and (n is None or n < least) for n, item in zip(numbers, found, strict=True))
    return tuple(None if n is None else int(n) for n in numbers) if len(found) == count and not any(wrong) else None


def whole(source: Record | Mapping[str, Any], key: str) -> int | None:
    """A whole number, or None."""
    value = number(source, key)
    return int(value) if value is not None and value == int(value) else None


def items(source: Record | Mapping[str, Any], key: str) -> tuple[Any, ...]:
    """A list's items, or none."""
    value = source.get(key)
    return tuple(value) if isinstance(value, list) else ()


def texts(source: Record | Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The strings of a list."""
    return tuple(item for item in items(source, key) if isinstance(item, str))


def mapping(source: Record | Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """An object, or an empty one."""
    value = source.get(key)
    return value if isinstance(value, dict) else {}


def silence(log: StepLog, name: str, otherwise: str) -> str:
    """Why a node's part is missing: how its agent ended, or what is said otherwise."""
    ended = log.ended.get(name, "")
    return f"{name}'s agent: {ended}." if ended else otherwise


def or_lost(got: Mapping[Subject, T], reasons: Mapping[Subject, str]) -> dict[Subject, T | Lost]:
    """What was got, and the reason for each subject that nothing was got of."""
    return {subject: got.get(subject, Lost(reason)) for subject, reason in reasons.items()}
