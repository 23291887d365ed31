"""What `nvidia-smi -q` prints, as text and as XML (`-x`): one nested dict a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

MOST_DEPTH = 16

_TEXT = re.compile(r"(?m)^(?P<gpu>GPU (?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*$")
_XML = re.compile(r'<gpu id="(?P<gpu>[^"<>]{1,40})">')
_LINE = re.compile(r"(?m)^(?P<indent>[ \t]+)(?P<key>[^:\n]*[^:\s])[ \t]*(?::[ \t]*(?P<value>.*))?$")
_TAG = re.compile(r"<(?P<end>/?)(?P<key>\w+)[^<>]*>(?:(?P<value>[^<>\n]*)</(?P=key)>)?")

Path = tuple[str, ...]
Told = Iterator[tuple[Path, str | None, int]]
"""Key by key in order: its path, its value (None: it has keys of its own), and its offset in the text."""


def gpus(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Each GPU and the part of the text that tells of it; its address is under "", other keys are as printed."""
    for begins in (_TEXT, _XML):
        found = list(begins.finditer(text))
        for gpu, end in pairwise([*((m["gpu"], m.start()) for m in found), ("", len(text))]):
            yield _nested(gpu[0].removeprefix("GPU "), text[gpu[1] : end[1]]), gpu[1], end[1]


def line(text: str, path: tuple[str | int, ...]) -> int:
    """The line, from 0, of a value in what tells of one GPU; the first where there is none such."""
    at = next((at for told, _, at in _told(text) if told == path), 0)
    return text.count("\n", 0, at)


def _nested(gpu: str, text: str) -> dict[str, Any]:
    root: dict[str, Any] = {"": gpu}
    for path, value, _ in _told(text):
        inner = root
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = {} if value is None else value
    return root


def _told(text: str) -> Told:
    return _of_xml(text) if text.startswith("<") else _of_text(text)


def _of_text(text: str) -> Told:
    """What is indented more than a key is the key's."""
    stack: list[tuple[int, str]] = []
    for found in _LINE.finditer(text):
        indent = len(found["indent"].expandtabs())
        while stack and stack[-1][0] >= indent:
            stack.pop()
        stack.append((indent, found["key"].strip()))
        if len(stack) <= MOST_DEPTH:
            yield tuple(key for _, key in stack), (found["value"] or "").strip() or None, found.start("key")
        if (found["value"] or "").strip():
            stack.pop()


def _of_xml(text: str) -> Told:
    """Tag by tag, so that a file that was cut off gives what it can and no entity is ever resolved."""
    stack: list[str] = []
    for found in _TAG.finditer(text):
        if found["end"]:
            if len(stack) < 2:  # the GPU's own
                return
            stack.pop()
        elif not stack or found["value"] is None:
            stack.append(found["key"])
            if 1 < len(stack) <= MOST_DEPTH:
                yield tuple(stack[1:]), None, found.start()
        elif len(stack) <= MOST_DEPTH:
            yield (*stack[1:], found["key"]), found["value"].strip(), found.start()
