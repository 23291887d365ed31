"""Redaction of what was already made of documents: a report's own sentences quote logs and objects."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from gonogo.documents.redact import redact

T = TypeVar("T")


def without_secrets(value: T) -> T:
    """The same dataclass, tuple or text, with `redact` done on every text in it; whatever else it holds stays."""
    return _clean(value)  # type: ignore[no-any-return]


def _clean(value: Any) -> Any:
    if type(value) is str:  # not an enum's member
        return redact(value.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    if isinstance(value, tuple):
        return tuple(_clean(v) for v in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _clean(getattr(value, f.name)) for f in fields(value) if f.init})
    return value
