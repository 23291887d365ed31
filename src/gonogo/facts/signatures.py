"""Signatures: lines that tools print, as data, and the scan of text for them.

A signature is evidence and never a verdict: causes decide what it means. Its `anchors` are literals, found by one
Aho–Corasick pass over the raw bytes; only lines that carry one meet the regular expression.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

from ahocorasick_rs import BytesAhoCorasick

from gonogo.documents.blocks import Block

TYPES = {"int": int, "float": float, "str": str}
WINDOW_BYTES = 4096  # of a very long line, what is looked at on each side of an anchor
TRACEBACK = b"Traceback (most recent call last)"
_DEEP = re.compile(r'\\+"')
"""A quote of JSON inside of a text, or of JSON inside of that."""


class Role(StrEnum):
    """What a line means for the search for a cause."""

    INITIATING = "initiating"  # says what went wrong
    CASCADE = "cascade"  # something went wrong before it, somewhere
    TEARDOWN = "teardown"  # the end of a job, for whatever reason
    HARMLESS = "harmless"  # looks bad and isn't
    CONTEXT = "context"  # a plain fact about the run, such as the network that was chosen


class SignatureError(Exception):
    """A signature file says something that can't be: a programmer's error, found when it is loaded."""


@dataclass(frozen=True, slots=True)
class Signature:
    """One kind of line."""

    id: str
    anchors: tuple[bytes, ...]
    written: str  # the pattern as it stands in the file; "": the anchor is enough
    role: Role
    meaning: str
    source: str
    types: Mapping[str, str]

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """Compiled when the first line asks for it: a run meets few of all the kinds."""
        return _compiled(self.written) if self.written else None

    def captures(self, text: str) -> dict[str, str | int | float] | None:
        """What the line says, typed; None where it is not this kind of line."""
        if (pattern := self.pattern) is None:
            return {}
        found = pattern.search(text)
        if not found and '\\"' in text:  # a message inside of JSON
            found = pattern.search(_DEEP.sub('"', text))
        if not found:
            return None
        return {
            name: TYPES[self.types.get(name, "str")](value)
            for name, value in found.groupdict().items()
            if value is not None
        }


@cache
def _compiled(written: str) -> re.Pattern[str]:
    return re.compile(written)


@dataclass(frozen=True, slots=True)
class Hit:
    """A line with at least one anchor, and the signatures that these anchors stand for."""

    line: int
    start: int  # in the block
    end: int
    signatures: Sequence[int]  # places in the catalogue; -1 is a Python traceback


class Catalogue:
    """All signatures and the automaton of their anchors."""

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self.signatures = tuple(signatures)
        self.by_id = {s.id: s for s in self.signatures}
        of_anchor: dict[bytes, list[int]] = {TRACEBACK: [-1]}
        for place, signature in enumerate(self.signatures):
            for anchor in signature.anchors:
                of_anchor.setdefault(anchor, []).append(place)
        self.anchors = tuple(of_anchor)
        self._places = [tuple(places) for places in of_anchor.values()]
        self._automaton = BytesAhoCorasick(list(self.anchors))

    def hits(self, block: Block) -> Iterator[Hit]:
        """The lines of a block that carry an anchor, in order, each once."""
        data, places = block.data, self._places
        line, counted = block.line, 0
        start = end = 0
        found: list[int] = []
        for anchor, at, _ in self._automaton.find_matches_as_indexes(data, True):
            if at >= end:
                if found:
                    yield Hit(line, start, end, found)
                start = data.rfind(b"\n", 0, at) + 1
                end = data.find(b"\n", at)
                end = len(data) if end < 0 else end
                line += data.count(b"\n", counted, start)
                counted = start
                if end - start > 4 * WINDOW_BYTES:
                    start, end = max(start, at - WINDOW_BYTES), min(end, at + WINDOW_BYTES)
                found = []
            for place in places[anchor]:
                if place not in found:
                    found.append(place)
        if found:
            yield Hit(line, start, end, found)


def matching(line: str) -> list[str]:
    """The ids of all signatures that one line has."""
    known = catalogue()
    places = [p for hit in known.hits(Block(line.encode("utf-8", "replace"), 1)) for p in hit.signatures if p >= 0]
    return sorted({known.signatures[p].id for p in places if known.signatures[p].captures(line) is not None})


@cache
def catalogue() -> Catalogue:
    """The product's own signatures, from data/signatures/*.toml."""
    folder = files("gonogo.data") / "signatures"
    texts = {f.name: f.read_text() for f in folder.iterdir() if f.name.endswith(".toml")}
    return Catalogue([s for name in sorted(texts) for s in read(name, texts[name], compiled=False)])


def read(name: str, text: str, *, compiled: bool = True) -> list[Signature]:
    """The signatures of one file. Raises SignatureError with the file and the id; for a pattern only if compiled."""
    table = tomllib.loads(text)
    found = [_signature(name, row, compiled) for row in table.pop("signature", [])]
    if table:
        raise SignatureError(f"{name}: unknown key {', '.join(table)}")
    ids = [s.id for s in found]
    if twice := {i for i in ids if ids.count(i) > 1}:
        raise SignatureError(f"{name}: more than one {', '.join(sorted(twice))}")
    return found


def _signature(name: str, row: dict[str, object], compiled: bool) -> Signature:
    where = f"{name}: {row.get('id', 'a signature without id')}"
    allowed = {"id", "anchors", "pattern", "role", "meaning", "source", "types"}
    if unknown := set(row) - allowed:
        raise SignatureError(f"{where}: unknown key {', '.join(sorted(unknown))}")
    try:
        anchors, pattern = row["anchors"], row.get("pattern")
        if not isinstance(anchors, list) or not anchors or not all(isinstance(a, str) and len(a) > 3 for a in anchors):
            raise SignatureError(f"{where}: anchors must be texts of at least 4 characters")
        types = row.get("types", {})
        if not isinstance(types, dict) or not set(types.values()) <= set(TYPES):
            raise SignatureError(f"{where}: types must be {', '.join(TYPES)}")
        written = str(pattern or "")
        if (types and not written) or (compiled and not set(types) <= set(re.compile(written).groupindex)):
            raise SignatureError(f"{where}: types names a capture that the pattern lacks")
        return Signature(
            str(row["id"]), tuple(a.encode() for a in anchors), written,
            Role(str(row["role"])), str(row["meaning"]), str(row["source"]), types,
        )  # fmt: skip
    except KeyError as error:
        raise SignatureError(f"{where}: lacks {error}") from None
    except (ValueError, re.error) as error:
        raise SignatureError(f"{where}: {error}") from None
