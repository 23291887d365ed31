"""What could not be read is said once."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path

from gonogo.documents.sources import Limits, Notes, sources


def test_a_cut_is_noted_once_however_often_a_reader_asks(tmp_path: Path) -> None:
    packed = gzip.compress(random.Random(1).randbytes(1 << 16))
    (tmp_path / "a.gz").write_bytes(packed[:-100])
    notes = Notes()
    for source in sources(tmp_path / "a.gz", io.BytesIO(), notes):
        assert [source.stream.read(1 << 20) for _ in range(3)][1:] == [b"", b""]
    (told,) = notes.sentences()
    assert told.startswith("a.gz could not be read to its end")


def test_a_limit_is_noted_once(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"x" * 5_000)
    notes = Notes()
    for source in sources(tmp_path / "a.log", io.BytesIO(), notes, Limits(file_bytes=1_000)):
        assert [len(source.stream.read(10_000)) for _ in range(3)] == [1_000, 0, 0]
    assert notes.sentences() == ("a.log is larger than the limit; the rest was not read.",)
