"""Jupyter notebooks: what cells printed, at the lines of the file where it stands; what they would run is left out."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from gonogo.documents.blocks import Block, blocks
from gonogo.documents.foreign import json_value

MISSES = 20  # texts that are spelt in JSON as nobody spells them, after which lines are no longer looked up
_HEADER = re.compile(r"^\S+ +(Traceback \(most recent call last\))$")
_CELL = re.compile(r"^((?:Cell )?In ?\[\d+\]), line (\d+)(?:, in ([\w.<>]+).*)?$")
_FILE = re.compile(r"^File ([^\s\"]+):(\d+)(?:, in ([\w.<>]+).*)?$")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def is_notebook(head: bytes) -> bool:
    """Whether a text is a notebook's JSON."""
    return head[:64].lstrip().startswith(b"{") and b'"nbformat"' in head and b'"cells"' in head


def outputs(data: bytes) -> Iterator[Block] | None:
    """Every output of every cell as a block; None for what is no notebook after all."""
    text = data.decode("utf-8", "replace")
    try:
        cells = json_value(text)["cells"]
        shown = [lines for output in _in_force(cells) if (lines := list(_lines(output)))]
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return None
    return _blocks(text, shown)


def _in_force(cells: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The outputs, but none below a cell that failed unless it is known to have run later: a failure ends a run."""
    failed: int | None = None
    for cell in (c for c in cells if c.get("cell_type") == "code"):
        ran, some = cell.get("execution_count"), cell.get("outputs") or ()
        if failed is None or (isinstance(ran, int) and ran > failed):
            yield from some
            if any(o.get("output_type") == "error" for o in some):
                failed = ran if isinstance(ran, int) else sys.maxsize


def _blocks(text: str, shown: Iterable[list[str]]) -> Iterator[Block]:
    at, number, misses = 0, 1, 0
    for lines in shown:
        place = next((p for s in _spellings(lines[0]) if (p := text.find(s, at)) >= 0), -1) if misses < MISSES else -1
        misses += place < 0
        place = max(place, at)
        number += text.count("\n", at, place)
        at = place
        told = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
        for block in blocks(io.BytesIO(_as_python(told).encode("utf-8", "replace"))):
            yield replace(block, line=block.line + number - 1)


def _spellings(piece: str) -> tuple[str, str]:
    return json.dumps(piece, ensure_ascii=False), json.dumps(piece)


def _lines(output: dict[str, Any]) -> Iterator[str]:
    """What one output shows as text: a stream, a result or an error."""
    if output.get("output_type") == "error":
        told = _strings(output.get("traceback"))
        last = f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
        yield from told
        if not told or not _ANSI.sub("", told[-1]).startswith(last[:200].split("\n")[0]):
            yield last
    elif output.get("output_type") == "stream":
        yield from _strings(output.get("text"))
    elif isinstance(data := output.get("data"), dict):
        yield from _strings(data.get("text/plain"))


def _strings(value: object) -> list[str]:
    return (
        [value]
        if isinstance(value, str)
        else [s for s in value if isinstance(s, str)]
        if isinstance(value, list)
        else []
    )


def _as_python(text: str) -> str:
    """IPython's frames and header, written as Python itself writes them."""
    told = []
    for line in _ANSI.sub("", text).split("\n"):
        line = _HEADER.sub(r"\1:", line)
        if found := _CELL.match(line) or _FILE.match(line):
            line = f'  File "{found[1]}", line {found[2]}, in {found[3] or "<module>"}'
        told.append(line)
    return "\n".join(told)
