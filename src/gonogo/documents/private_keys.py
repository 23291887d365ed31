"""Private keys that stand in a text over several lines, taken out of it before anything reads a line alone."""

from __future__ import annotations

import re
from bisect import bisect_right

from gonogo.documents.redact import KEY_BEGIN, KEY_END, REDACTED

MOST_LINES = 200  # of a key; a longer one is cut off, or none
_BODY = re.compile(rb"(?:.*\s)?[A-Za-z0-9+/=]{40,}\s*$|\s*[A-Za-z0-9+/=]{1,76}\s*$|\s*(?:Proc-Type|DEK-Info):")
_INDENT = re.compile(rb"\s*")


def without_keys(data: bytes, inside: bool = False) -> tuple[bytes, bool]:
    """Whole lines with the lines of keys marked, and whether they end inside of a key; their number stays.

    A key whose end is missing goes on for as long as its lines look like one.
    """
    if not inside and b"PRIVATE KEY" not in data:
        return data, False
    lines = data.split(b"\n")
    ends = [i for i, line in enumerate(lines) if b"-----END " in line and _closes(line)]
    end = -1
    for i, line in enumerate(lines):
        if i < end or (inside and _BODY.match(line)):
            lines[i] = _marked(line, len(line))
            continue
        if i == end or (inside and _closes(line)):
            lines[i] = _marked(line, KEY_END.search(line).start())  # type: ignore[union-attr]
        inside = inside and not line and i == len(lines) - 1  # the next block goes on
        if b"-----BEGIN " in line and _opens(line):
            following = bisect_right(ends, i)
            near = following < len(ends) and ends[following] - i <= MOST_LINES
            inside, end = not near, ends[following] if near else -1
    return b"\n".join(lines), inside


def _marked(line: bytes, end: int) -> bytes:
    indent = _INDENT.match(line, 0, end).end()  # type: ignore[union-attr]
    return line[:indent] + REDACTED + line[end:] if indent < end else line


def _opens(line: bytes) -> bool:
    begins = [m.end() for m in KEY_BEGIN.finditer(line)]
    return bool(begins) and not KEY_END.search(line, begins[-1])


def _closes(line: bytes) -> bool:
    end = KEY_END.search(line)
    return bool(end) and not KEY_BEGIN.search(line, 0, end.start())  # type: ignore[union-attr]
