"""What the streams can show."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from dataclasses import dataclass
from typing import Any, TextIO, cast

_PIPE_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Screen:
    """One output stream: its width in columns, and whether it takes colours and more than ASCII."""

    width: int
    color: bool
    unicode: bool
    terminal: bool

    @classmethod
    def of(cls, stream: TextIO) -> Screen:
        """As the stream and NO_COLOR, FORCE_COLOR, TERM and COLUMNS say."""
        terminal = stream.isatty()
        dumb = os.environ.get("TERM") == "dumb"
        color = not os.environ.get("NO_COLOR") and (bool(os.environ.get("FORCE_COLOR")) or (terminal and not dumb))
        width = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns if terminal else _columns()
        return cls(min(width, 160), color, _takes_unicode(stream), terminal and not dumb)


def _columns() -> int:
    text = os.environ.get("COLUMNS", "")
    return int(text) if re.fullmatch(r"[0-9]{2,6}", text) and int(text) >= 40 else _PIPE_WIDTH


def _takes_unicode(stream: TextIO) -> bool:
    try:
        "✓×·→≥α".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return os.environ.get("TERM") != "linux"


def prepare() -> None:
    """Mend what libraries would trip on: streams that are closed, and sizes of a terminal that are no numbers."""
    _open_missing()
    for name in ("COLUMNS", "LINES"):
        if not re.fullmatch(r"[0-9]{1,6}", os.environ.get(name, "0")):
            del os.environ[name]


def _open_missing() -> None:
    """Give a process that was started without standard streams (`>&-`) null ones: no file that it opens becomes one."""
    for descriptor in (d for d in (0, 1, 2) if not _is_open(d)):  # open() gives the lowest free one
        os.open(os.devnull, os.O_RDONLY if descriptor == 0 else os.O_WRONLY)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def discard(stream: TextIO) -> None:
    """Let what is left in a stream that takes no more go nowhere, so that the end of the process doesn't trip on it."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def out(text: str) -> None:
    """Data, to stdout, in whatever its encoding can hold. A reader that has gone, as in `| head`, has seen enough."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)


def note(text: str) -> None:
    """Anything that isn't data, to stderr; nothing depends on whether it can be written."""
    encoding = sys.stderr.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), file=unheard(sys.stderr), flush=True)


class _Unheard:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()


def unheard(stream: TextIO) -> TextIO:
    """The stream, but what it doesn't take is lost and no error: its reader may go, its terminal may be closed."""
    return cast("TextIO", _Unheard(stream))
