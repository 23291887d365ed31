"""A byte stream as blocks of whole lines, whatever its encoding, line ends, colours and line lengths."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from gonogo.documents.private_keys import without_keys

BLOCK_BYTES = 1 << 22
LONGEST_LINE_BYTES = 1 << 20  # a longer line is cut into pieces of this size, all with its number
ANSI = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be",  # first: one begins with UTF-16's mark
    codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines, each ended by a line feed but perhaps the last; `line` is the number of the first, from 1."""

    data: bytes
    line: int


def blocks(stream: IO[bytes], size: int = BLOCK_BYTES) -> Iterator[Block]:
    """The stream in blocks, UTF-16 and -32 turned into UTF-8, terminal colours and private keys removed.

    Memory is bounded by `size`.
    """
    line, rest, inside = 1, b"", False
    decoder: codecs.IncrementalDecoder | None = None
    first = True
    while chunk := stream.read(size):
        if first:
            first = False
            if bom := _bom(chunk):
                decoder = codecs.getincrementaldecoder(_BOMS[bom])("replace")
                chunk = chunk[len(bom) :]
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
        if decoder:
            chunk = decoder.decode(chunk).encode("utf-8", "replace")
        data = rest + chunk if rest else chunk
        end = data.rfind(b"\n") + 1
        if end == 0 and len(data) > LONGEST_LINE_BYTES:
            yield Block(_plain(data), line)  # part of one endless line: its number stays
            rest = b""
            continue
        rest = data[end:]
        if end:
            whole, inside = without_keys(_plain(data[:end]), inside)
            yield Block(whole, line)
            line += whole.count(b"\n")
    if rest:
        yield Block(without_keys(_plain(rest), inside)[0], line)


def _bom(head: bytes) -> bytes:
    return next((bom for bom in _BOMS if head.startswith(bom)), b"")


def _plain(data: bytes) -> bytes:
    return ANSI.sub(b"", data) if b"\x1b" in data else data


def is_binary(head: bytes) -> bool:
    """Whether the first bytes of a file are not text: control bytes, and no mark of UTF-16 or -32."""
    if _bom(head):
        return False
    sample = head[:8192]
    odd = sum(sample.count(bytes([c])) for c in (0, 1, 2, 3, 4, 5, 6, 14, 15, 16, 17, 18))
    return odd * 50 > len(sample)
