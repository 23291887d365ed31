"""YAML that people write, read with the place of everything in it, and refused as soon as it is odd.

Stricter than YAML 1.1: keys are text and stand once, there are no tags, merges, dates or numbers in base 60, and
aliases can't blow up.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gonogo.errors import InputError, shown

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MOST_BYTES = 1 << 20
MOST_VALUES = 50_000  # with aliases written out
MOST_DEPTH = 50

Path_ = tuple[str | int, ...]

_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})|0x[0-9a-fA-F]{1,16}")
_FLOAT = re.compile(r"[-+]?([0-9]{1,40}\.[0-9]{0,40}|\.[0-9]{1,40}|[0-9]{1,40}(?=[eE]))([eE][-+]?[0-9]{1,3})?")
_PLAIN = {"": None, "~": None, "null": None, "true": True, "false": False}
_LOOKS_BOOLEAN = re.compile(r"(?i:yes|no|on|off|y|n)")


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file, counted from 1."""

    line: int
    column: int


@dataclass(slots=True)
class YamlFile:
    """One document of YAML: its value, and where each value and key in it stands."""

    name: str
    value: Any = None
    values: dict[Path_, Mark] = field(default_factory=dict)
    keys: dict[Path_, Mark] = field(default_factory=dict)

    def error(self, mark: Mark | None, text: str) -> InputError:
        """An error that names the place."""
        return InputError(f"{self.name}:{mark.line}:{mark.column}: {text}" if mark else f"{self.name}: {text}")


def name_of(path: Path) -> str:
    """What errors call a file; `-` is standard input."""
    return "<stdin>" if str(path) == "-" else str(path)


def read_file(path: Path, wish: str = "a plan is a few lines") -> bytes:
    """The bytes of a regular file of bearable size, or of standard input; `wish`: why larger ones aren't. Raises
    InputError.
    """
    data = sys.stdin.buffer.read(MOST_BYTES + 1) if str(path) == "-" else _opened(path)
    if len(data) > MOST_BYTES:
        raise InputError(f"{name_of(path)}: is larger than {MOST_BYTES >> 20} MiB; {wish}.")
    return data


def _opened(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise InputError(f"{path}: is a folder; a file was expected.")
        if path.exists() and not (path.is_file() or path.is_fifo()):
            raise InputError(f"{path}: is no regular file.")
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: can't be read: {getattr(error, 'strerror', None) or error}.") from None


def parse(data: bytes, name: str) -> YamlFile:
    """Read one document. Raises InputError with file:line:column."""
    out = YamlFile(name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise out.error(
            Mark(line, column), f"byte 0x{data[error.start]:02x} isn't UTF-8; expected YAML text."
        ) from None
    try:
        _refuse_depth(text, out)
        nodes = list(yaml.compose_all(text, Loader=LOADER))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Mark(mark.line + 1, mark.column + 1) if mark else None
        raise out.error(place, f"isn't YAML: {error.problem or error.context}.") from None
    except yaml.YAMLError as error:
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else 1
        raise out.error(Mark(line, 1), f"isn't YAML: {getattr(error, 'reason', 'unreadable')}.") from None
    if len(nodes) > 1:
        raise out.error(_mark(nodes[1]), "a second document begins here; expected one.")
    if nodes and nodes[0] is not None:
        out.value = _Builder(out).build(nodes[0], ())
    return out


def _refuse_depth(text: str, out: YamlFile) -> None:
    """Composing recurses in C: nothing deep may reach it."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=LOADER)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MOST_DEPTH or count > MOST_VALUES:
            what = f"nested deeper than {MOST_DEPTH}" if depth > MOST_DEPTH else f"more than {MOST_VALUES} values"
            raise out.error(_mark(event), f"{what}.")


def _mark(node: yaml.Node | yaml.Event) -> Mark:
    assert node.start_mark is not None  # what is read from text has a place
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1)


class _Builder:
    """Values from nodes; counts them, since an alias costs nothing to write and everything to read."""

    def __init__(self, out: YamlFile) -> None:
        self.out = out
        self.count = 0

    def build(self, node: yaml.Node, path: Path_) -> Any:
        self.count += 1
        if self.count > MOST_VALUES or len(path) > MOST_DEPTH:
            raise self.out.error(_mark(node), "aliases make this too large.")
        self.out.values[path] = _mark(node)
        if isinstance(node, yaml.MappingNode):
            self._check_tag(node, "map")
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            self._check_tag(node, "seq")
            return [self.build(child, (*path, index)) for index, child in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: Path_) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self.out.error(_mark(key), "a key must be text.")
            if key.value == "<<" and not key.style:
                raise self.out.error(_mark(key), 'merge keys ("<<") aren\'t supported; write the keys out.')
            if key.value in found:
                first = self.out.keys[(*path, key.value)]
                raise self.out.error(_mark(key), f"{shown(key.value)} stands twice, first in line {first.line}.")
            self.out.keys[(*path, key.value)] = _mark(key)
            found[key.value] = self.build(value, (*path, key.value))
        return found

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text: str = node.value
        if node.style:  # quoted or a block
            self._check_tag(node, "str")
            return text
        self._check_tag(node, "str", "int", "float", "bool", "null", "timestamp", "merge", "value")
        if text.lower() in _PLAIN:
            return _PLAIN[text.lower()]
        if _INT.fullmatch(text):
            return int(text, 16 if text.startswith("0x") else 10)
        if _FLOAT.fullmatch(text):
            return float(text)
        if _LOOKS_BOOLEAN.fullmatch(text):
            raise self.out.error(_mark(node), f'{text} is ambiguous in YAML; write true, false or "{text}".')
        return text

    def _check_tag(self, node: yaml.Node, *allowed: str) -> None:
        if node.tag.removeprefix("tag:yaml.org,2002:") not in allowed:
            raise self.out.error(_mark(node), f"tag {shown(node.tag)} isn't allowed here.")
