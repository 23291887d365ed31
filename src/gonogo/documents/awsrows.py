"""Rows that a --query of the AWS CLI left without names, as the answer that they were cut out of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

GROUP = re.compile(r"(?:group-id,Values=|--group-ids? )(?P<id>sg-\w+)")
_COMMAND = re.compile(r"\baws \w[\w-]* \w")
_ASKS = re.compile(r"--query\b")
_QUERY = re.compile(r"--query[ =]['\"]?(?P<of>[\w.\[\]*]*?)\.?\[(?P<columns>[\w.\[\]]+(?:, ?[\w.\[\]]+)+)\]")
_MOST_ROWS = 5_000
MOST_COMMANDS = 200  # in one file
_WORDS: dict[str, Any] = {"True": True, "False": False, "None": None}


def lines_with(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Where the lines that hold a pattern begin and end; a pattern that begins with a literal is fast."""
    at = 0
    while found := pattern.search(text, at):
        start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
        at = end if end >= 0 else len(text)
        yield start, at


def rows(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """The answers under such commands in a terminal's transcript, as text or as JSON, with their places."""
    for begin, end in islice(lines_with(_ASKS, text), MOST_COMMANDS):
        command, start = text[begin:end], end + 1
        if not _COMMAND.search(command):
            continue
        if text[start : start + 1] == "[":
            try:
                told, end = json.JSONDecoder().raw_decode(text, start)
            except (ValueError, RecursionError):
                continue
            found = [[0, *row] for row in told if isinstance(row, list)]
        else:
            lines = text[start : start + 400 * _MOST_ROWS].split("\n\n")[0].split("\n")[:_MOST_ROWS]
            stop = next((i for i, line in enumerate(lines) if "\t" not in line), len(lines))
            found = [[i, *(_WORDS.get(c, c) for c in line.split("\t"))] for i, line in enumerate(lines[:stop])]
            end = start + sum(len(line) + 1 for line in lines[:stop])
        if found and (data := answer(command, found)):
            yield data, start, end


def answer(command: str, rows: Sequence[Any]) -> dict[str, Any] | None:
    """`{"Subnets": [{…}]}` of rows, each with its line first; None where the command names no columns for them."""
    asked = _QUERY.search(command)
    if not asked:
        return None
    columns = [c.strip() for c in asked["columns"].split(",")]
    key = re.findall(r"[A-Za-z]\w*", asked["of"])[-1:]
    group = GROUP.search(command)
    made = [_named(row, columns, group["id"] if group else "") for row in rows if len(row) == len(columns) + 1]
    return {key[0]: made} if key and made else None


def _named(row: Sequence[Any], columns: Sequence[str], group: str) -> dict[str, Any]:
    told: dict[str, Any] = {"": row[0]}
    for path, value in zip(columns, row[1:], strict=True):
        inner: Any = told
        *parents, last = re.findall(r"(\w+)((?:\[\w*\])?)\.?", path)
        for name, listed in parents:
            inner = inner.setdefault(name, [{}] if listed else {})
            inner = inner[0] if isinstance(inner, list) else inner
        if isinstance(inner, dict):
            inner[last[0]] = value
    return {"GroupId": group, "SecurityGroupRuleId": "", **told} if group and "IsEgress" in told else told
