"""A user's files, folders, archives and streams, as byte streams that are safe and bounded.

Nothing is ever unpacked to disk, no link is followed, no device is opened. What is left out is said, never dropped.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading may cost; beyond it the rest is left out, and said so."""

    files: int = 20_000
    file_bytes: int = 64 << 30  # of one plain file
    unpacked_bytes: int = 8 << 30  # of one archive, compressed file or stream
    ratio: int = 1_000  # unpacked over packed, from `ratio_from_bytes` on
    ratio_from_bytes: int = 256 * MIB
    depth: int = 3  # an archive in a compressed file in a folder
    object_bytes: int = 16 * MIB  # of one JSON or YAML file that is read as objects
    objects_bytes: int = 32 * MIB  # of all of them


@dataclass(slots=True)
class Notes:
    """What was left out, and why, in sentences; alike ones are counted."""

    counts: dict[str, list[str]] = field(default_factory=dict)
    corrupt: str = ""  # the first file whose checksum or packing is wrong: nothing of it can be trusted
    missed: bool = False  # something that may matter was meant to be read, and could not be

    def add(self, name: str, why: str) -> None:
        """`why` ends the sentence that begins with the file's name."""
        self.counts.setdefault(why, []).append(name)

    def miss(self, name: str, why: str) -> None:
        """`add`, for what nobody chose to leave out: that nothing was found proves less then."""
        self.missed = True
        self.add(name, why)

    def sentences(self) -> tuple[str, ...]:
        """`core.1 is binary and was not read.`, or the first of many and how many more."""
        return tuple(
            f"{names[0]} {why}" if len(names) == 1 else f"{names[0]} and {len(names) - 1} more: each {why}"
            for why, names in self.counts.items()
        )


@dataclass(frozen=True, slots=True)
class Source:
    """One text to read: its name under the root, and a stream that ends."""

    name: str
    stream: IO[bytes]


class _Bounded(io.RawIOBase):
    """A stream that ends at a limit, or where what came out is out of proportion to what went in."""

    def __init__(self, stream: IO[bytes], name: str, limit: int, notes: Notes, packed: _Counted | None = None) -> None:
        self._stream, self._name, self._left, self._notes = stream, name, limit, notes
        self._packed, self._given, self._limits = packed, 0, Limits()
        self._ended = False  # what ended it is noted once, however often a reader asks for more

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer))
        if self._ended:
            return 0
        self._ended = True
        if self._left <= 0:
            self._notes.miss(self._name, "is larger than the limit; the rest was not read.")
            return 0
        packed = self._packed.given if self._packed else self._given
        if self._given > self._limits.ratio_from_bytes and self._given > self._limits.ratio * max(1, packed):
            self._notes.miss(self._name, "unpacks to over 1000 times its size; the rest was not read.")
            return 0
        try:
            read = getattr(
                self._stream, "read1", self._stream.read
            )  # read1: what came before a cut is not lost with it
            got: bytes = read(min(len(view), self._left))
        except (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile) as error:
            reason = str(error) or type(error).__name__
            self._notes.miss(self._name, f"could not be read to its end: {reason}, after {self._given} bytes.")
            if not isinstance(error, EOFError | tarfile.TarError):  # those tell of a cut
                self._notes.corrupt = self._notes.corrupt or f"{self._name}: {reason}"
            return 0
        self._ended = not got
        view[: len(got)] = got
        self._left -= len(got)
        self._given += len(got)
        return len(got)


class _Counted(io.RawIOBase):
    """Passes bytes on and counts them."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self.given = stream, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer))
        got = self._stream.read(len(view))
        view[: len(got)] = got
        self.given += len(got)
        return len(got)


def sources(path: Path | None, stdin: IO[bytes], notes: Notes, limits: Limits | None = None) -> Iterator[Source]:
    """Every text under a file or folder, in the order of names; of stdin where `path` is None.

    Read each before asking for the next. Raises OSError if the path itself can't be read.
    """
    limits = limits or Limits()
    if path is None:
        yield from _unpack("stdin", stdin, notes, limits, limits.depth, plain_limit=limits.unpacked_bytes)
    elif path.is_dir():
        for count, (name, file) in enumerate(_walk(path, notes)):
            if count >= limits.files:
                notes.miss(name, f"and what follows it was not read: only {limits.files} files are.")
                return
            try:
                with file.open("rb") as stream:
                    yield from _unpack(name, stream, notes, limits, limits.depth)
            except OSError as error:
                notes.miss(name, f"could not be read: {error.strerror or error}.")
    else:
        if not stat.S_ISREG(path.stat().st_mode) and not stat.S_ISFIFO(path.stat().st_mode):
            raise OSError("it is neither a file nor a folder")
        with path.open("rb") as stream:
            yield from _unpack(path.name, stream, notes, limits, limits.depth)


def _walk(root: Path, notes: Notes) -> Iterator[tuple[str, Path]]:
    """The regular files below a folder; links and devices are named in the notes."""
    todo = [root]
    while todo:
        folder = todo.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda e: e.name)
        except OSError as error:
            if folder == root:
                raise
            notes.miss(str(folder.relative_to(root)), f"could not be listed: {error.strerror}.")
            continue
        below = []
        for entry in entries:
            name = os.fsencode(os.path.relpath(entry.path, root)).decode(errors="replace")
            if entry.is_symlink():
                notes.add(name, "is a link and was not followed.")
            elif entry.is_dir(follow_symlinks=False):
                if entry.name != ".git":
                    below.append(Path(entry.path))
            elif entry.is_file(follow_symlinks=False):
                yield name, Path(entry.path)
            else:
                notes.add(name, "is neither a file nor a folder and was not opened.")
        todo.extend(reversed(below))


def _unpack(
    name: str, stream: IO[bytes], notes: Notes, limits: Limits, depth: int, plain_limit: int | None = None
) -> Iterator[Source]:
    """A stream as it is, or what is packed in it, told by its first bytes."""
    counted = _Counted(stream)
    buffered = io.BufferedReader(counted, 512 * 1024)
    head = buffered.peek(512)[:512]
    opened = _decompress(head, cast("IO[bytes]", buffered))
    if opened is None and not _is_tar(head) and head[:4] != b"PK\x03\x04":
        bounded = _Bounded(cast("IO[bytes]", buffered), name, plain_limit or limits.file_bytes, notes)
        yield Source(name, cast("IO[bytes]", io.BufferedReader(bounded, 512 * 1024)))  # its reads are full ones
    elif depth == 0:
        notes.miss(name, "is packed too many times over and was not read.")
    elif opened is not None:
        inner = _Bounded(opened, name, limits.unpacked_bytes, notes, counted)
        yield from _unpack(name, cast("IO[bytes]", io.BufferedReader(inner)), notes, limits, depth - 1)
    elif _is_tar(head):
        yield from _untar(name, cast("IO[bytes]", buffered), notes, limits, depth - 1)
    else:
        yield from _unzip(name, stream, head, notes, limits, depth - 1)


class _Zstd(io.RawIOBase):
    """The stream behind a zstd-compressed one, frame after frame; damage and an early end are OSErrors.

    Fed in small pieces: a block of a few bytes may unpack to 128 KiB.
    """

    PIECE = 1 << 10

    def __init__(self, stream: IO[bytes]) -> None:
        import zstandard  # few inputs need it

        self._stream, self._damage = stream, zstandard.ZstdError
        self._make = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._make()
        self._begun = False
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            piece = self._stream.read(self.PIECE)
            if not piece:
                if self._begun:
                    raise OSError("the compressed data end early")
                return 0
            self._ready = self._unpacked(piece)
        told, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(told)] = told
        return len(told)

    def _unpacked(self, piece: bytes) -> bytes:
        out = b""
        while piece:
            try:
                out += self._frame.decompress(piece)
            except self._damage as error:
                raise OSError(f"damaged zstd data: {error}") from None
            self._begun = not self._frame.eof
            piece = b""
            if self._frame.eof:
                piece, self._frame = self._frame.unused_data, self._make()
        return out


def _decompress(head: bytes, stream: IO[bytes]) -> IO[bytes] | None:
    """The stream behind a compressed one, or None if it is not compressed."""
    if head[:2] == b"\x1f\x8b":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=stream))
    if head[:3] == b"BZh" and head[4:10] == b"1AY&SY":
        return cast("IO[bytes]", bz2.BZ2File(stream))
    if head[:6] == b"\xfd7zXZ\x00":
        return cast("IO[bytes]", lzma.LZMAFile(stream))
    if head[:4] == b"\x28\xb5\x2f\xfd":
        return cast("IO[bytes]", io.BufferedReader(_Zstd(stream)))
    return None


def _is_tar(head: bytes) -> bool:
    return head[257:262] == b"ustar"


class _Member(tarfile.TarInfo):
    """A header that is none is an error: by itself tarfile would take it for the end, and say nothing."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if type(error).__name__ in ("EmptyHeaderError", "EOFHeaderError"):
                raise
            raise tarfile.ReadError(str(error)) from None


def _untar(name: str, stream: IO[bytes], notes: Notes, limits: Limits, depth: int) -> Iterator[Source]:
    """The regular members of a tar, read as they stream by; nothing touches the disk."""
    count, offset = 0, 0
    try:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member) as archive:
            for count, member in enumerate(archive, 1):
                offset = member.offset
                if count > limits.files:
                    notes.miss(name, f"holds more than {limits.files} members; the rest was not read.")
                    return
                inside = member.name.removeprefix("./").replace("\n", "?")
                if member.isfile() and (opened := archive.extractfile(member)):
                    yield from _unpack(inside, opened, notes, limits, depth)
                elif not member.isdir():
                    notes.add(inside, "is a link or device in an archive and was not followed.")
    except (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        where = f"after member {count}, which begins at byte {offset}" if count else "before its first member"
        notes.miss(name, f"is an archive that could not be read to its end: {error}, {where}.")


def _unzip(name: str, stream: IO[bytes], head: bytes, notes: Notes, limits: Limits, depth: int) -> Iterator[Source]:
    """The members of a zip, which must be a file of its own: its index is at its end."""
    try:
        stream.seek(0)
        with zipfile.ZipFile(stream) as archive:
            for count, info in enumerate(archive.infolist()):
                if count >= limits.files:
                    notes.miss(name, f"holds more than {limits.files} members; the rest was not read.")
                    return
                if info.is_dir():
                    continue
                if info.file_size > limits.ratio * max(1, info.compress_size) and info.file_size > 64 * MIB:
                    notes.miss(info.filename, "unpacks to over 1000 times its size and was not read.")
                    continue
                if info.flag_bits & 1:
                    notes.miss(info.filename, "is encrypted and was not read.")
                    continue
                with archive.open(info) as opened:
                    yield from _unpack(info.filename, opened, notes, limits, depth, limits.unpacked_bytes)
    except (zipfile.BadZipFile, OSError, EOFError, zlib.error, RuntimeError, NotImplementedError) as error:
        notes.miss(name, f"is an archive that could not be read: {error}.")
