"""JSON, YAML, kubectl tables, `key : value` listings: structured text as plain dicts, each with its place in the file.

Recognised by content. What can't be parsed stays text; nothing is executed, and aliases can't blow a document up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any

import yaml

from gonogo.documents import awsrows, awstable, awstext, nvidia, ulimits
from gonogo.documents.foreign import plain
from gonogo.documents.positions import positions

Form = str  # "json", "yaml", "table", "listing", "described", "csv", "awstable"

TABLES = 200  # of the AWS CLI, in one file
TABLE_CHARACTERS = 1 << 17
DOCUMENTS = 2_000  # of one file
LOG_LINES = 50  # in JSON, after which a file is a log
_LOG_KEYS = {"level", "msg", "ts", "log", "message", "time", "timestamp", "stream", "seq", "run", "MESSAGE", "severity"}
ALIASES = 200  # of one YAML document
_YAML_START = re.compile(
    r"(?m)^(?:- )?(?:apiVersion|kind):[ \t]*\S"
    r"|^(?:nodegroup|accessEntry|cluster|addon|Role|metadata|spec|status):[ \t]*\n +\S"
    r"|^(?:items|[A-Z][A-Za-z]{3,}):[ \t]*\n *- "
)
_CONTINUED = re.compile(r"^\s+(?![-#])(?![\w./\"'-]+:(?:\s|$))\S")
_SCALAR = re.compile(r"^\s*(?:- )*[\w./\"'-]+: +[^|>{\[\s]")
_TABLE_HEAD = re.compile(
    r"^(?:NAMESPACE {2,})?(?:NAME|LAST SEEN|TYPE|ADDON|NODE|OBJECT)\b(?:(?: {2,}|\t)[A-Z][A-Z0-9()/_.: -]*)+\s*$"
)
HEADLESS = re.compile(
    r"^(?:(?P<namespace>[a-z][a-z0-9-]*) +)?[a-z0-9][a-z0-9.-]* +(?P<ready>\d+/\d+) +[A-Z][A-Za-z:0-9/]+ +\d+ "
    r"|^[a-z0-9][a-z0-9.-]* +(?:Not)?Ready(?:,SchedulingDisabled)? +\S"
)
_VERSION = re.compile(r"v1\.\d+\.")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+$")
KIND = "\0kind"
"""Where a row keeps the kind that its command asked for; its columns are then there by their paths, too."""
_CUSTOM = re.compile(r"\bget (?P<kind>\w+)\b.*custom-columns=[\"']?(?P<columns>[^\"'\s]+)")
_COLUMN = re.compile(r"\S+(?: \S+)*")
_OBJECT_START = re.compile(r"\s*(?:\{\s*\"|\[\s*\{)")
_JSON_START = re.compile(r"(?m)^(?P<open>[{\[])(?=\s*[\"{\[}\]])")


@dataclass(frozen=True, slots=True)
class Parsed:
    """One document of a file: what it says, its form, and the part of the text that it is."""

    data: Any
    form: Form
    start: int  # offset in the text
    end: int


def is_yaml(text: str) -> bool:
    """Whether a text looks like YAML of Kubernetes or AWS, and not like JSON."""
    return bool(_YAML_START.search(text)) and not text.lstrip().startswith("{")


def unfolded(text: str) -> str:
    """YAML with each folded text on the line where it begins, and empty lines instead of its others."""
    lines = text.split("\n")
    at = -1
    for i, line in enumerate(lines):
        if at >= 0 and _CONTINUED.match(line):
            lines[at] += f" {line.strip()}"
            lines[i] = ""
        else:
            at = i if _SCALAR.match(line) else -1
    return "\n".join(lines)


def parse(text: str, damage: list[str] | None = None) -> Iterator[Parsed]:
    """The structured documents in a text, in order; the same text may hold a transcript around them.

    Where it begins as one and none can be read, `damage` is told why.
    """
    damage = [] if damage is None else damage
    if is_yaml(text):
        if found := list(_yaml(text, damage)):
            damage.clear()
            yield from found
            return
        for one in _embedded(text):
            damage.clear()
            yield one
    yield from _json(text, damage)
    for gpu, begin, end in nvidia.gpus(text):
        yield Parsed(gpu, "listing", begin, end)
    for shown in islice(awstable.START.finditer(text), TABLES):
        data, length = awstable.table(text[shown.start() : shown.start() + TABLE_CHARACTERS])
        data = awstable.named(data, text[max(0, shown.start() - 1_000) : shown.start()])
        if isinstance(data, dict | list) and data:
            yield Parsed(data, "awstable", shown.start(), shown.start() + length)
    for answer, begin, end in islice(awsrows.rows(text), TABLES):
        yield Parsed(answer, "awstable", begin, end)
    for limits, begin, end in islice(ulimits.memlock(text), TABLES):
        yield Parsed(limits, "awstable", begin, end)
    if awstext.ROWS.search(text) and (told := awstext.answers(text)):
        yield Parsed(told, "awstable", 0, len(text))
    yield from _described(text)
    yield from _tables(text)
    yield from _csv(text)


_CSV_HEAD = re.compile(r"(?m)^[A-Za-z][\w ./\[\]%-]*(?:, ?[A-Za-z][\w ./\[\]%-]*){2,}$")
CSV_ROWS = 10_000


_RATES = re.compile(r"(?m)^[A-Za-z][\w.-]*(?:(?: {2,}|\t)[\w./()%-]+)*(?: {2,}|\t)(?:[GM]bits?/s(?:ec)?|Gbps|GB/s)\s*$")


def _csv(text: str) -> Iterator[Parsed]:
    """Small tables of numbers: a header of names, then rows of as many cells."""
    head, apart = _CSV_HEAD.search(text), ","
    if not head:
        head, apart = _RATES.search(text), r" {2,}|\t+"
    if not head:
        return
    columns = [name.strip() for name in re.split(apart, head[0].strip())]
    rows: list[list[str]] = []
    end = head.end() + 1
    for line in text[end:].splitlines(keepends=True)[:CSV_ROWS]:
        cells = [cell.strip() for cell in re.split(apart, line.strip())]
        if len(cells) != len(columns):
            break
        rows.append(cells)
        end += len(line)
    if rows:
        yield Parsed({"columns": columns, "rows": rows}, "csv", head.start(), end)


def _json(text: str, damage: list[str]) -> Iterator[Parsed]:
    decoder = json.JSONDecoder()
    at = tries = logged = 0
    while tries < DOCUMENTS and (begin := _JSON_START.search(text, at)):
        tries += 1
        try:
            data, end = decoder.raw_decode(text, begin.start("open"))
            data = plain(data) if text.find("\\u", begin.start("open"), end) >= 0 else data
        except (ValueError, RecursionError) as error:
            if tries == 1 and _OBJECT_START.match(text):
                damage.append(_said(error))
            at = text.find("\n", begin.end()) + 1 or len(text)
            continue
        damage.clear()
        if isinstance(data, dict) and len(_LOG_KEYS & data.keys()) > 1:
            logged += 1
        elif isinstance(data, dict | list) and data:
            yield Parsed(data, "json", begin.start("open"), end)
        if logged > LOG_LINES:
            return
        at = end


class _Loader(yaml.CSafeLoader):
    """PyYAML's safe loader over libyaml, with YAML's surprises for Kubernetes off: dates stay text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _yaml(text: str, damage: list[str]) -> Iterator[Parsed]:
    at = 0
    pieces = list(re.finditer(r"(?m)^---[^\n]*\n?", text))
    bounds = [(0, pieces[0].start() if pieces else len(text))]
    bounds += [(p.end(), pieces[i + 1].start() if i + 1 < len(pieces) else len(text)) for i, p in enumerate(pieces)]
    for start, end in bounds[:DOCUMENTS]:
        piece = text[start:end]
        skip = re.match(r"(?:[$#][^\n]*\n|\s*\n)*", piece)
        at = start + (skip.end() if skip else 0)
        try:
            data = _loaded(text[at:end])
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            if _YAML_START.match(text, at) and "{{" not in piece:  # a template is no object yet
                damage.append(_said(error, text.count("\n", 0, at)))
            continue
        if isinstance(data, dict | list) and data:
            yield Parsed(data, "yaml", at, end)


def _said(error: Exception, before: int = 0) -> str:
    """What keeps a document from being read, and in which line of the text, `before` lines of which are others'."""
    if isinstance(error, RecursionError):
        return "nested too deep"
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}: {error.msg}"
    if isinstance(error, yaml.MarkedYAMLError):
        what, mark = error.problem or error.context, error.problem_mark or error.context_mark
        return f"line {before + mark.line + 1}: {what}" if mark else str(what)
    return str(error).partition("\n")[0]


def _loaded(text: str) -> Any:
    """The value of one document. Raises ValueError where aliases blow it up: few do, each of many of the one before."""
    aliases = len(re.findall(r"(?m)(?:^|[\s:\[,-])\*\w", text))
    if aliases > ALIASES:
        raise ValueError("too many aliases")
    data = yaml.load(text, _Loader)  # noqa: S506 - a subclass of the safe loader
    return plain(data, most=4 * len(text)) if aliases else data


_MANIFEST = re.compile(r"(?m)^apiVersion: \S+\n(?:(?:[ ]+\S.*|[a-zA-Z]\w*:.*|- .*)?\n)+")


def _embedded(text: str) -> Iterator[Parsed]:
    """Manifests between the other lines of a terminal's transcript."""
    for found in list(_MANIFEST.finditer(text))[:DOCUMENTS]:
        try:
            data = _loaded(found[0])
        except (yaml.YAMLError, ValueError, RecursionError):
            continue
        if isinstance(data, dict) and data:
            yield Parsed(data, "yaml", found.start(), found.end())


def _tables(text: str) -> Iterator[Parsed]:
    """kubectl's tables: one dict a row, by column."""
    at = 0
    columns: list[tuple[str, int]] = []
    paths: dict[str, str] = {}
    for line in text.splitlines(keepends=True)[:200_000]:
        bare = line.rstrip()
        if "custom-columns=" in bare and (asked := _CUSTOM.search(bare)):
            paths = dict(p.split(":", 1) for p in asked["columns"].split(",") if ":" in p)
            paths[KIND] = asked["kind"]
            columns = []
        elif paths and not columns and bare.split() == [p for p in paths if p != KIND]:
            columns = [(m[0], m.start()) for m in re.finditer(r"\S+", bare)]
        elif bare[:1].isupper() and _TABLE_HEAD.match(bare):
            columns = [(m[0], m.start()) for m in _COLUMN.finditer(bare)] if "  " in bare else []
        elif not bare or bare.startswith(("$", "#", "---")):
            if bare.startswith(("$", "#")):
                columns, paths = [], {}
        elif columns:
            row = _row(bare, columns)
            known = {p: row[name] for name, p in paths.items() if name in row} if paths else {}
            yield Parsed({**row, **known, KIND: paths[KIND]} if known else row, "table", at, at + len(line))
        elif (bald := _without_head(bare)) is not None:
            yield Parsed(bald, "table", at, at + len(line))
        at += len(line)


def _without_head(line: str) -> dict[str, str] | None:
    """A row of pods or nodes whose head was cut off, or never asked for."""
    if not (found := HEADLESS.match(line)):
        return None
    cells = re.split(r" {2,}|\t+", line.strip())
    cells = cells if len(cells) > 3 else line.split()
    if found["ready"]:
        namespace = [cells.pop(0)] if found["namespace"] else []
        more = dict(zip(("IP", "NODE"), cells[5:7], strict=False)) if len(cells) > 5 else {}
        row = dict(zip(("NAME", "READY", "STATUS", "RESTARTS", "AGE"), cells, strict=False))
        return {**row, **({"NAMESPACE": namespace[0]} if namespace else {}), **more}
    row = {"NAME": cells[0], "STATUS": cells[1], "ROLES": "", "VERSION": ""}
    for number, cell in enumerate(cells[2:]):
        known = "VERSION" if _VERSION.match(cell) else "INTERNAL-IP" if _ADDRESS.match(cell) else f"COLUMN {number}"
        row[known] = cell
    return row


def _row(line: str, columns: list[tuple[str, int]]) -> dict[str, str]:
    cells = re.split(r" {2,}|\t+", line.strip())
    if len(cells) == len(columns):
        return {name: cell for (name, _), cell in zip(columns, cells, strict=True)}
    ends = [start for _, start in columns[1:]] + [len(line) + 1]
    return {name: line[start:end].strip() for (name, start), end in zip(columns, ends, strict=True)}


_DESCRIBED = re.compile(r"(?m)^Name: {2,}\S")
_FRAGMENT = re.compile(
    r"(?m)^(?:Allocatable|Capacity|Conditions|Taints|Containers|Tolerations|Labels):(?: {2,}\S|[ \t]*$)"
)
_DESCRIBED_LINE = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z][^:]*|[\w./-]+):(?: +(?P<value>\S.*))?$")


def _described(text: str) -> Iterator[Parsed]:
    """`kubectl describe`: one nested dict an object; the further lines of a list are under its key and a NUL."""
    starts = [m.start() for m in _DESCRIBED.finditer(text)]
    if not starts and (begin := _FRAGMENT.search(text)):
        starts = [begin.start()]  # somebody's own cut of it
    for start, end in pairwise([*starts, len(text)]):
        yield Parsed(_description(text[start:end]), "described", start, end)


def _description(text: str) -> dict[str, Any]:
    root: dict[str, Any] = {}
    stack: list[tuple[int, dict[str, Any]]] = [(-1, root)]
    last = ""
    column = 0
    state: tuple[str, int] | None = None  # the words under a container's state are also kept apart, under a \\1
    for line in text.splitlines():
        if line.startswith("Events:"):
            break
        found = _DESCRIBED_LINE.match(line)
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            continue
        if not found or (last and column and indent >= column):
            stack[-1][1].setdefault(f"{last}\0", []).append(line.strip())
            continue
        while stack[-1][0] >= indent:
            stack.pop()
        last, value = found["key"].strip(), found["value"]
        column = found.start("value") if value else 0
        if state and indent > state[1] and value:
            stack[-1][1].setdefault(f"{state[0]}\1", {})[last] = value.strip()
        else:
            state = (last, indent) if last in ("State", "Last State") else None
        if value:
            stack[-1][1][last] = value.strip()
        else:
            inner: dict[str, Any] = {}
            stack[-1][1][last] = inner
            stack.append((indent, inner))
    return root


def line_of(text: str, parsed: Parsed, path: tuple[str | int, ...]) -> int:
    """The line, from 1, on which the value at `path` in a document begins; where it can't be told, the document's."""
    known = positions(text)
    base = known.line(parsed.start) + 1
    if parsed.form == "table":
        return base
    if parsed.form == "json":
        try:
            return known.line(known.in_json(parsed.start, path)) + 1
        except (LookupError, ValueError, RecursionError):
            pass
    if parsed.form == "yaml" and len(path) > 1 and path[0] == "items":  # of a long list, that item alone is read
        starts = known.items(parsed.start, parsed.end)
        if len(starts) - 1 == len(parsed.data["items"]):
            begin, end = starts[int(path[1])], starts[int(path[1]) + 1]
            try:
                return known.line(begin) + 1 + _mark(yaml.compose(text[begin:end], _Loader), (0, *path[2:]))
            except (yaml.YAMLError, LookupError, ValueError, RecursionError, StopIteration):
                pass  # such as an alias of what stands outside of it
    piece = text[parsed.start : parsed.end]
    if parsed.form == "described":
        return base + _described_line(piece, path)
    if parsed.form == "listing":
        return base + nvidia.line(piece, path)
    if parsed.form == "awstable":
        return base + awstable.place(piece, parsed.data, path)
    if parsed.form == "csv":
        return base + (int(path[1]) + 1 if len(path) > 1 else 0)
    if len(path) > 1 and path[0] == "items" and piece.partition("\n")[0].endswith('"items":['):
        return base + 1 + int(path[1])  # one item a line, as bundles keep lists
    if parsed.form in ("json", "yaml") and len(piece) < 1 << 20:
        try:
            return base + _mark(_composed(piece), path)
        except (yaml.YAMLError, LookupError, ValueError, RecursionError, StopIteration):
            pass
    return base + _search(piece, path)


@lru_cache(maxsize=1)
def _composed(piece: str) -> Any:
    """The nodes of a document, with their lines; kept, since many values of one list are cited in a row."""
    return yaml.compose(piece, _Loader)


def _mark(node: Any, path: tuple[str | int, ...]) -> int:
    """The line of the key, or of the item of a list."""
    line = int(node.start_mark.line)
    for step in path:
        if isinstance(step, int):
            node = node.value[step]
            line = int(node.start_mark.line)
        else:
            key, node = next((k, v) for k, v in node.value if k.value == step)
            line = int(key.start_mark.line)
    return line


_CONDITIONS = re.compile(r"(?m)^Conditions:[ \t]*\n +Type .*\n(?: +-+ .*\n)?")
_LABELS = {"phase": "Status", "taints": "Taints", "tolerations": "Tolerations", "allocatable": "Allocatable",
           "nodeName": "Node", "reason": "Reason", "message": "Message", "labels": "Labels", "limits": "Limits",
           "volumeMounts": "Mounts", "image": "Image", "name": "Name"}  # fmt: skip


def _described_line(piece: str, path: tuple[str | int, ...]) -> int:
    """The line of the last step that the description has a word for."""
    at = 0
    if path[:2] == ("status", "conditions") and len(path) > 2 and (head := _CONDITIONS.search(piece)):
        return piece.count("\n", 0, head.end()) + int(path[2])
    for step in path:
        if isinstance(step, str):
            found = re.compile(rf"(?m)^ *{re.escape(_LABELS.get(step, step))}[:=]").search(piece, at)
            at = found.start() if found else at
    return piece.count("\n", 0, at)


def _search(piece: str, path: tuple[str | int, ...]) -> int:
    """The line of the last key, looked for in order: for text that YAML can't read."""
    at = 0
    for step in path:
        if isinstance(step, str):
            found = re.compile(rf'(?m)(?:"{re.escape(step)}"|^\s*{re.escape(step)})\s*:?').search(piece, at)
            at = found.start() if found else at
            at = found.end() if found and step is not path[-1] else at
    return piece.count("\n", 0, at)
