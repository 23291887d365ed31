"""Kubernetes objects out of files: gonogo's own, and whatever `kubectl get` printed for a user."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from gonogo.documents.foreign import json_value, yaml_values
from gonogo.documents.kubernetes import (
    ANSWERS,
    DOCUMENTS,
    FOLDER,
    FOOT,
    KINDS,
    RUN_POD,
    AccessDocument,
    Object,
    Objects,
    PodObjects,
    Scope,
    answer,
)
from gonogo.kernel import Lost
from gonogo.model import Status

_decode = msgspec.json.Decoder().decode


def read(name: str, data: bytes) -> Iterator[Object]:
    """All objects in one file: gonogo's own lines, one object, a List, or several YAML documents; else none."""
    text = data.lstrip()
    if text.startswith(b"{"):
        if text.partition(b"\n")[0].rstrip().endswith(b'"items":['):
            yield from _lines(name, data)
            return
        try:
            loaded = [json_value(text)]
        except ValueError:
            return
    elif b"kind:" in data and b"\0" not in data:
        try:
            loaded = yaml_values(data)
        except ValueError:
            return
    else:
        return
    lines = _Lines(data)
    for document in loaded:
        for item in _flat(document):
            found = Object(item, name)
            yield Object(item, name, lines.of(found.name))


def group(objects: Iterable[Object]) -> dict[type[Objects], Objects]:
    """Objects by kind; kinds that gonogo has no document for are left out."""
    found: dict[type[Objects], list[tuple[str, int, bytes]]] = {}
    for item in objects:
        if kind := KINDS.get(item.kind):
            found.setdefault(kind, []).append((item.file, item.line, msgspec.json.encode(item.data)))
    return {kind: kind(tuple(items)) for kind, items in found.items()}


def _lines(name: str, data: bytes) -> Iterator[Object]:
    head, *rest = data.split(b"\n")
    try:
        kind = str(json_value(head + FOOT)["kind"]).removesuffix("List")
    except (ValueError, KeyError):
        return
    for number, line in enumerate(rest, 2):
        try:
            item = _decode(line.rstrip(b",\r"))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # the foot, or the line at which the file was cut off
        if isinstance(item, dict):
            yield Object({"kind": kind, **item}, name, number)


def _flat(document: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(document, dict):
        return
    kind = str(document.get("kind", ""))
    items = document.get("items")
    if isinstance(items, list) and (kind == "List" or kind.endswith("List")):
        for item in items:
            if isinstance(item, dict):
                own = kind.removesuffix("List")
                yield item if "kind" in item or not own else {"kind": own, **item}
    elif kind and isinstance(document.get("metadata"), dict):
        yield document


class _Lines:
    """Where in a pretty-printed file an object's name stands."""

    def __init__(self, data: bytes) -> None:
        self._at: dict[str, int] = {}
        for number, line in enumerate(data[: 16 << 20].splitlines(), 1):
            key, _, value = line.strip().strip(b"-, ").partition(b":")
            if key.strip(b'" ') == b"name":
                self._at.setdefault(value.strip(b'", ').decode(errors="replace"), number)

    def of(self, name: str) -> int:
        return self._at.get(name, 0)


def documents(files: Mapping[str, bytes], lost: Mapping[str, Any] | None = None) -> dict[type, object]:
    """All documents of this plane from a bundle's or a user's files; {} if none of them is of this plane.

    `lost` is what the bundle's run.json says of documents that could not be had.
    """
    grouped = group(
        item for name, data in sorted(files.items()) if _may_hold_objects(name) for item in read(name, data)
    )
    found: dict[type, object] = dict(grouped)
    for name, data in files.items():
        if own := _own(name, data):
            whole = data.rstrip().endswith(FOOT)
            found[own] = found.get(own, own(())) if whole else Lost(f"{name} is cut off.")
    for kind in ANSWERS:
        with contextlib.suppress(ValueError, KeyError):
            found[kind] = answer(kind, files[kind.file])  # type: ignore[attr-defined]
    if not found:
        return {}
    access = found.get(AccessDocument)
    denied = (
        {(r.verb, r.resource) for r in access.reviews if not r.allowed} if isinstance(access, AccessDocument) else ()
    )
    pods = found.get(PodObjects)
    scope = found.get(Scope)
    partly = ("list", "pods") in denied or (isinstance(scope, Scope) and bool(scope.job))
    if isinstance(pods, PodObjects) and partly:
        found[PodObjects] = PodObjects(pods.items, everywhere=False)
    for kind in DOCUMENTS:
        if kind not in found:
            found[kind] = Scope() if kind is Scope else _absent(kind, lost or {})
    return found


def _own(name: str, data: bytes) -> type[Objects] | None:
    """The document that a list of gonogo's own is, whole or not, empty or not."""
    head = data[:200].partition(b"\n")[0]
    return next((kind for kind in KINDS.values() if name.startswith(FOLDER) and head == kind.head()), None)


def _may_hold_objects(name: str) -> bool:
    return (
        name.endswith((".json", ".yaml", ".yml"))
        and not name.startswith("agents/")
        and name not in (*_ANSWER_FILES, RUN_POD)
    )


def _absent(kind: type, lost: Mapping[str, Any]) -> Lost:
    entry = lost.get(kind.__name__)
    if isinstance(entry, Mapping):
        status = Status.SKIP if entry.get("status") == Status.SKIP else Status.UNKNOWN
        return Lost(str(entry.get("reason", "It was lost.")), status)
    what = f"{kind.kind} objects" if issubclass(kind, Objects) else kind.file  # type: ignore[attr-defined]
    return Lost(f"The files hold no {what}.", Status.SKIP)


_ANSWER_FILES = frozenset({RUN_POD, *(kind.file for kind in ANSWERS)})  # type: ignore[attr-defined]
