"""Python tracebacks in logs: what was raised, and in whose code."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gonogo.documents.blocks import Block
from gonogo.documents.redact import redact
from gonogo.facts.signatures import TRACEBACK, Hit

IGNORED = b"Exception ignored in"
LONGEST_HEAD = 200  # bytes before a traceback that may hold its time
LONGEST_LINES = 400
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>.+))?')
_RAISED = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
_LIBRARY = re.compile(
    r"/(?:site|dist)-packages/|/lib(?:64)?/python\d|^<frozen|/(?:bin|sbin)/(?:torchrun|deepspeed|accelerate|horovodrun)$"
    r"|/opt/(?:conda|pytorch)/(?:lib|bin)/"
)


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception: its type, message, the innermost frame, and the innermost frame outside libraries."""

    type: str
    message: str
    frame: str  # file:line
    user: str  # file:line, "" if all frames are a library's
    line: int  # of the document, where the exception's own line stands
    text: str
    is_ignored: bool  # Python says so itself, of what was raised while it cleans up
    head: str = ""  # what stands before the traceback: often the only place with a time


def raised(block: Block, hit: Hit) -> Raised | None:
    """The exception at the end of the traceback that begins in a line; lines of other ranks between are passed over."""
    data = block.data
    begin = data.rfind(b"\n", 0, data.find(TRACEBACK, hit.start)) + 1
    prefix = data[begin : data.find(TRACEBACK, begin)].removeprefix(b"^C")
    stable = re.sub(rb"\d[\d:.,TZ-]{6,}", b"", prefix)  # a time in the prefix changes from line to line
    at, number = data.find(b"\n", hit.start) + 1, hit.line
    frame = user = ""
    for _ in range(LONGEST_LINES):
        if not at:
            return None
        end = data.find(b"\n", at)
        raw = data[at : end if end >= 0 else len(data)]
        number += 1
        at = end + 1
        body = _without(raw, prefix, stable)
        if body is None:
            continue
        text = body.decode("utf-8", "replace").rstrip("\r")
        if found := _FRAME.match(text):
            frame = f"{found['file']}:{found['line']}"
            user = user if _LIBRARY.search(found["file"]) else frame
        elif frame and text and not text[0].isspace() and (found := _RAISED.match(text)):
            shown = raw.decode("utf-8", "replace").rstrip("\r")
            ignored = IGNORED in data[data.rfind(b"\n", 0, max(begin - 1, 0)) + 1 : begin]
            message = redact((found["message"] or "").encode()).decode()[:400]  # cut after: half a key has no shape
            before = data[data.rfind(b"\n", 0, max(begin - 1, 0)) + 1 : begin] if begin else b""
            head = (prefix or before)[-LONGEST_HEAD:].decode("utf-8", "replace").strip()
            return Raised(found["type"], message, frame, user, number, shown, ignored, head)
    return None


def _without(raw: bytes, prefix: bytes, stable: bytes) -> bytes | None:
    """The line without the prefix that its traceback's first line had; None if it is somebody else's line."""
    if not prefix or raw.startswith(prefix):
        return raw[len(prefix) :]
    if len(stable) != len(prefix) and re.sub(rb"\d[\d:.,TZ-]{6,}", b"", raw[: len(prefix)]) == stable:
        return raw[len(prefix) :]
    return raw if stable == b"" or not prefix.strip() else None
