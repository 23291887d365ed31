"""A user's folder, file or stream read once: texts as blocks for scanning, and the small structured ones whole."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from gonogo.documents.blocks import Block, blocks, is_binary
from gonogo.documents.notebook import is_notebook, outputs
from gonogo.documents.sources import Limits, Notes, sources
from gonogo.documents.speech import MANIFEST, SOURCE_CODE, kind, without_changes

_STRUCTURED = re.compile(
    rb"(?m)^(?!\{\"(?:level|ts|stream)\":)[{\[](?=\s*[\"{\[}\]\n])|^(?:- )?(?:apiVersion|kind):"
    rb"|^(?:NAME|NAMESPACE|LAST SEEN|TYPE|ADDON|NODE|OBJECT)\s{2,}"
    rb"|^(?:nodegroup|accessEntry|cluster|addon|items|[A-Z][a-zA-Z]{3,}):[ \t]*$"
    rb"|^[a-z][\w ./\[\]%-]*(?:, ?[a-z][\w ./\[\]%-]*){2,}$"
    rb"|^[a-z0-9][a-z0-9.-]* +(?:(?:[a-z0-9][a-z0-9.-]* +)?\d+/\d+ +[A-Z]|(?:Not)?Ready[, ])"
    rb"|^[A-Za-z][\w.-]*(?:(?: {2,}|\t)[\w./()%-]+)*(?: {2,}|\t)(?:[GM]bits?/s|Gbps|GB/s)"
    rb"|^(?:ROUTES|ENTRIES|IPPERMISSIONS)\t"
    rb"|^-{10,}\n\|[^|\n]+\|\n"
    rb"|^(?:metadata|spec|status):[ \t]*$"
    rb"|^GPU [0-9A-Fa-f]{4,8}:|^<\?xml|^(?:Name|Namespace):\s|^<nvidia_smi_log"
)
_ASKED = (b" --query", b"ulimit -l", b"custom-columns=")
"""Of commands whose answers say nothing of their columns."""
_SOURCES = (".py", ".cc", ".cpp", ".cu", ".h", ".go", ".rs", ".js", ".ts")
_CODE = re.compile(
    rb"(?m)^(?:import |from \S+ import |def |class |@\w|#include|package |func |fn |use |const "
    rb"|\s+(?:return|raise|except|try:|for \w+ in)\b)"
)
HEAD_BYTES = 1 << 18


@dataclass(slots=True)
class Read:
    """How much was read, and what was left out."""

    files: int = 0
    bytes: int = 0
    lines: int = 0
    is_blank: bool = True  # the files hold nothing but white space
    names: list[str] = field(default_factory=list)
    manifests: set[str] = field(default_factory=set)  # of them, those that say what should be and not what was
    notes: Notes = field(default_factory=Notes)
    interrupted: bool = False

    def take(self, some: Iterable[Block], on_block: Callable[[Block], None]) -> None:
        """Counts blocks, and hands them on; the last line of a file counts without its end, too."""
        last = b"\n"
        for block in some:
            self.bytes += len(block.data)
            self.lines += block.data.count(b"\n")
            last = block.data[-1:] or last
            on_block(block)
        self.lines += last != b"\n"


def read(
    path: Path | None,
    stdin: IO[bytes],
    *,
    on_file: Callable[[str], None],
    on_block: Callable[[Block], None],
    on_structured: Callable[[str, str], str],
    limits: Limits | None = None,
) -> Read:
    """Every text below `path`, or of stdin, in blocks; those that hold JSON, YAML or tables also whole.

    `on_structured` gives back what keeps a text that begins as objects from being read as such, or "".
    Ctrl-C ends the reading and keeps what was read. Raises OSError if `path` itself can't be read.
    """
    limits = limits or Limits()
    done = Read()
    structured_left = limits.objects_bytes
    try:
        for source in sources(path, stdin, done.notes, limits):
            head = source.stream.read(limits.object_bytes)
            if is_binary(head):
                done.notes.add(source.name, "is binary and was not read.")
                continue
            done.files += 1
            done.is_blank = done.is_blank and (not head or head.isspace())
            done.names.append(source.name)
            on_file(source.name)
            if is_notebook(head) and (shown := outputs(head)) is not None:
                done.notes.add(source.name, "is a notebook: the code of its cells was left out.")
                done.take(shown, on_block)
                continue
            about = kind(head)
            if about not in ("", MANIFEST, SOURCE_CODE):
                done.notes.add(source.name, f"is {about}: what it says of failures is not taken for one.")
                continue
            if len(head) < limits.object_bytes and (kept := without_changes(head)) is not head:
                done.notes.add(source.name, "holds diffs or commits: what they say of failures is not taken for one.")
                head = kept
                if not head.strip():
                    continue
            stream: IO[bytes] = io.BytesIO(head)
            if len(head) == limits.object_bytes:
                stream = io.BufferedReader(_Chained(head, source.stream), 1 << 20)
                if _STRUCTURED.match(head):
                    done.notes.add(source.name, "is too large to be read as objects; its lines were.")
            elif _is_structured(head[:HEAD_BYTES]):
                from gonogo.documents.structured import is_yaml, unfolded  # takes a while

                text = _text(head)
                if is_yaml(text):
                    stream = io.BytesIO(unfolded(text).encode())
                if len(head) <= structured_left:
                    structured_left -= len(head)
                    if damage := on_structured(source.name, text):
                        done.notes.miss(source.name, f"could not be read as objects, only as lines: {damage}.")
                else:
                    done.notes.add(source.name, "was read as lines only: the limit for objects was reached.")
            if about == MANIFEST:
                done.manifests.add(source.name)
            elif about or is_source(source.name, head):
                done.notes.add(source.name, f"is {SOURCE_CODE}: what it says of failures is not taken for one.")
                continue
            done.take(blocks(stream), on_block)
    except KeyboardInterrupt:
        done.interrupted = True
    return done


def _is_structured(head: bytes) -> bool:
    return any(word in head for word in _ASKED) or bool(_STRUCTURED.search(head.replace(b"\r\n", b"\n")))


def is_source(name: str, head: bytes) -> bool:
    """Whether a file is a program, which speaks of faults and has none to tell: by its name and what it holds."""
    return name.endswith(_SOURCES) and len(_CODE.findall(head[:HEAD_BYTES])) > 2


def _text(data: bytes) -> str:
    whole = "".join(block.data.decode("utf-8", "replace") for block in blocks(io.BytesIO(data)))
    return whole.replace("\r\n", "\n")


class _Chained(io.RawIOBase):
    """What was already read, then the rest of the stream."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        self._head, self._stream = io.BytesIO(head), stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        got = self._head.read(len(view)) or self._stream.read(len(view))
        view[: len(got)] = got
        return len(got)
