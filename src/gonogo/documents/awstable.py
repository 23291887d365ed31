"""What the AWS CLI prints with `--output table`, as the answer that it was made of."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from gonogo.documents import awsrows

START = re.compile(r"(?m)^-{10,}\n\|[^|\n]+\|\n")
_SEPARATOR = re.compile(r"^\|*[+-][+-]*\|*$")
_WORDS: dict[str, Any] = {"True": True, "False": False, "None": None}


@dataclass(slots=True)
class _Part:
    """A title and the rows under it, at the depth of its bars."""

    depth: int
    title: str
    rows: list[tuple[list[str], int]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    parts: list[_Part] = field(default_factory=list)

    def value(self) -> Any:
        """One dict, or a list of them, or of single values; the line of each dict is under ""."""
        cells = [row for row, _ in self.rows]
        if self.heads:
            found = [{"": at, **dict(zip(self.heads, map(_typed, row), strict=False))} for row, at in self.rows]
            if len(found) != 1:
                return found
            one = found[0]
        elif cells and all(len(row) == 1 for row in cells):
            return [_typed(row[0]) for row in cells]
        elif cells and all(len(row) > 2 for row in cells):
            return [[at, *map(_typed, row)] for row, at in self.rows]  # of a --query that names no columns
        else:
            one = {row[0]: _typed(row[1]) for row in cells if len(row) == 2}
            one[""] = self.rows[0][1] if self.rows else 0
        for part in self.parts:
            made = part.value()
            one.setdefault(part.title, [])
            if isinstance(one[part.title], list):
                one[part.title] += made if isinstance(made, list) else [made]
        return one


def table(text: str) -> tuple[Any, int]:
    """The answer that a table at the start of a text shows, and where the table ends."""
    root: _Part | None = None
    stack: list[_Part] = []
    end = fresh = 0
    lines = text.splitlines(keepends=True)
    for number, raw in enumerate(lines):
        line = raw.strip()
        if not line or line[0] not in "|+-" or (number and set(line) == {"-"}):  # the next table begins
            break
        end += len(raw)
        if _SEPARATOR.match(line):
            fresh = 2 if fresh else 1
            continue
        depth = len(line) - len(line.lstrip("|"))
        inner = line[depth : len(line) - depth]
        cells = [cell.strip() for cell in inner.split("|")]
        if len(cells) == 1 and (not stack or (fresh and _is_centred(inner))):
            part = _Part(depth, cells[0])
            while stack and stack[-1].depth >= depth:
                stack.pop()
            if stack:
                stack[-1].parts.append(part)
            elif root is None:
                root = part
            else:
                break
            stack.append(part)
        elif stack:
            part = stack[-1]
            follows = lines[number + 1].strip() if number + 1 < len(lines) else ""
            if (
                not part.rows
                and not part.heads
                and len(cells) > 1
                and _SEPARATOR.match(follows)
                and _goes_on(lines, number + 2, depth, len(cells))
            ):
                part.heads = cells
            else:
                part.rows.append((cells, number))
        fresh = 0
    return (_plain(root) if root else None), end


def _goes_on(lines: list[str], number: int, depth: int, cells: int) -> bool:
    """Whether rows of as many cells stand below a separator: what is above it is their head."""
    line = lines[number].strip() if number < len(lines) else ""
    return line.startswith("|" * depth) and line[depth : len(line) - depth].count("|") == cells - 1


def _is_centred(inner: str) -> bool:
    before, after = len(inner) - len(inner.lstrip()), len(inner) - len(inner.rstrip())
    return abs(before - after) <= 2 and before > 2


def _plain(root: _Part) -> Any:
    value = root.value()
    if isinstance(value, dict) and set(value) <= {"", *(p.title for p in root.parts)}:
        value.pop("", None)  # the operation's own name holds only lists
    return value


def _typed(cell: str) -> Any:
    if cell in _WORDS:
        return _WORDS[cell]
    return int(cell) if re.fullmatch(r"-?\d{1,9}", cell) and not cell.startswith("-") else cell


def place(piece: str, value: Any, path: tuple[str | int, ...]) -> int:
    """The line, from 0, of the row that shows a value."""
    at, key = 0, ""
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            break
        key = step if isinstance(step, str) else ""
        if isinstance(value, dict):
            at = value.get("", at)
    lines = piece.split("\n")
    row = re.compile(rf"^\|+ *{re.escape(key)} *\|") if key else None
    return next((n for n in range(at, min(at + 40, len(lines))) if row and row.match(lines[n])), at)


_QUERY = re.compile(r"\{(?P<pairs>\w+: ?[\w.]+(?:, ?\w+: ?[\w.]+)*)\}")


def named(data: Any, before: str) -> Any:
    """Rows with the API's own names instead of those that the command above, if it has a --query, gave its columns."""
    command = before.rstrip().rpartition("\n")[2]
    if isinstance(data, list) and any(isinstance(row, list) for row in data):
        return awsrows.answer(command, data)
    asked = _QUERY.search(command)
    if not asked or not isinstance(data, list | dict):
        return data
    own = {k.strip(): v.strip() for k, v in (pair.split(":", 1) for pair in asked["pairs"].split(","))}
    if isinstance(data, dict):
        if not set(data) - {""} <= set(own):
            return data
        data = [data]
    group = awsrows.GROUP.search(command)
    return [_own(row, own, group["id"] if group else "") if isinstance(row, dict) else row for row in data]


def _own(row: dict[str, Any], own: dict[str, str], group: str) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for key, value in row.items():
        *parents, last = own.get(key, key).split(".")
        inner = told
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[last] = value
    return {"GroupId": group, "SecurityGroupRuleId": "", **told} if group and "IsEgress" in told else told
