"""Where values of a text stand: its line starts and the members of its JSON are looked up once, not at every question.

Thousands of values of one file may be cited; each answer costs as much as its own value, not as the file.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from json.decoder import scanstring  # type: ignore[attr-defined]  # as the decoder itself reads a key
from typing import Any

Path = tuple[str | int, ...]
_KEPT = 4_096  # characters, from which on the members of a list or mapping are remembered
_FEED = re.compile("\n")
_NEXT = re.compile(r"[\s,]*")
_COLON = re.compile(r"\s*:\s*")
_ITEMS = re.compile(r"(?m)^(?P<items>items:[ \t]*\n)(?P<indent> *)- ")
_KEY = re.compile(r"(?m)^[^\s#-]")
_value = json.JSONDecoder(strict=False).raw_decode


class Positions:
    """Of one text. Offsets are in characters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._feeds = array("q", (m.start() for m in _FEED.finditer(text)))
        self._members: dict[int, dict[str | int, tuple[int, int]]] = {}
        self._items: dict[int, list[int]] = {}

    def line(self, offset: int) -> int:
        """How many lines end before an offset."""
        return bisect_right(self._feeds, offset - 1)

    def in_json(self, start: int, path: Path) -> int:
        """The offset of the key, or of the item of a list, that a path ends with; of the value at `start` for none.

        Raises ValueError or RecursionError for what is no JSON, LookupError for a path that is not there.
        """
        at = value = _after(_NEXT, self._text, start)
        for step in path:
            at, value = (self._members.get(value) or self._read(value))[step]
        return at

    def items(self, start: int, end: int) -> list[int]:
        """Where the items of a YAML document's list `items` begin, and where the last one ends."""
        if start not in self._items:
            self._items[start] = list(self._listed(start, end))
        return self._items[start]

    def _listed(self, start: int, end: int) -> Iterator[int]:
        head = _ITEMS.search(self._text, start, end)
        if not head:
            return
        stop = _KEY.search(self._text, head.end(), end)
        last = stop.start() if stop else end
        dash = re.compile(rf"(?m)^{head['indent']}- ")
        yield from (m.start() for m in dash.finditer(self._text, head.end("items"), last))
        yield last

    def _read(self, at: int) -> dict[str | int, tuple[int, int]]:
        """Step -> where its key or item stands, and where its value does, of the list or mapping at an offset."""
        text, found = self._text, dict[str | int, tuple[int, int]]()
        kind, begun = text[at : at + 1], at
        if kind not in ("{", "["):
            raise LookupError(at)
        at = _after(_NEXT, text, at + 1)
        while text[at : at + 1] not in ("}", "]", ""):
            key: Any = len(found)
            begin = at
            if kind == "{":
                key, at = scanstring(text, at + 1, False)
                at = _after(_COLON, text, at)
            found[key] = (begin, at)
            at = _after(_NEXT, text, _value(text, at)[1])
        if at - begun > _KEPT:
            self._members[begun] = found
        return found


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


@lru_cache(maxsize=64)
def positions(text: str) -> Positions:
    """The same for the same text; what is read as objects is bounded, and so is this."""
    return Positions(text)
