"""The report as JSON, for scripts: versioned, with a published schema (docs/report.schema.json)."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from gonogo.model import Report, Subject

API_VERSION = "gonogo/v1"
KIND = "Report"

_LEFT_OUT = {"traceback"}
_TIMES = {"started", "ended"}


def render(report: Report) -> str:
    """One JSON object, with a newline at its end."""
    return json.dumps(as_data(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_data(report: Report) -> dict[str, Any]:
    """The report made of JSON's types only; numbers that JSON can't hold become text such as "NaN"."""
    data: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND, **_plain(report)}
    for name in _TIMES:
        data["run"][name] = datetime.fromtimestamp(data["run"][name], UTC).isoformat(timespec="milliseconds")
    return data


def _plain(value: object) -> Any:
    match value:
        case Subject():
            return str(value)
        case Enum():
            return value.value
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case str() | int() | float() | bool() | None:
            return value
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _ if dataclasses.is_dataclass(value):
            fields = (f.name for f in dataclasses.fields(value) if f.name not in _LEFT_OUT)
            return {name: _plain(getattr(value, name)) for name in fields}
        case _:
            return str(value)
