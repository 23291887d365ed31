"""Streams become blocks of lines: any encoding, none of a private key's lines."""

from __future__ import annotations

import codecs
import io

import pytest

from gonogo.documents.blocks import blocks, is_binary

KEY = [
    "-----BEGIN RSA PRIVATE KEY-----",
    *["MIIEowIBAAKCAQEAx0examplebodyofakeyx0examplebodyofakeyx0examplebod"] * 12,
    "eQ==",
]
END = "-----END RSA PRIVATE KEY-----"


def read(text: str, size: int = 1 << 20) -> list[str]:
    return b"".join(block.data for block in blocks(io.BytesIO(text.encode()), size)).decode().split("\n")


@pytest.mark.parametrize("size", [7, 1 << 20])
@pytest.mark.parametrize(
    ("bom", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_mark_tells_the_encoding(bom: bytes, encoding: str, size: int) -> None:
    data = bom + "step 1\nérror 2\n".encode(encoding)
    assert not is_binary(data)
    assert b"".join(b.data for b in blocks(io.BytesIO(data), max(size, len(bom)))).decode() == "step 1\nérror 2\n"


@pytest.mark.parametrize("size", [100, 1000, 1 << 20])
def test_lines_of_a_key_are_marked_and_stay_lines(size: int) -> None:
    lines = ["before", *KEY, END, "after"]
    found = read("\n".join(lines), size)
    assert len(found) == len(lines)
    assert (found[0], found[-1]) == ("before", "after")
    assert not any("examplebody" in line or "eQ==" in line for line in found)


def test_whatever_stands_between_the_ends_of_a_key_is_of_it() -> None:
    found = read(f"loading\nRuntimeError: bad key {KEY[0]}\nRuntimeError: MIISECRET\nx {END}\nCUDA out of memory")
    assert found[2:] == ["[redacted]", f"[redacted]{END}", "CUDA out of memory"]


def test_a_key_that_is_cut_off_takes_no_other_lines_with_it() -> None:
    found = read("\n".join([*KEY[:6], "RuntimeError: CUDA out of memory", "x" * 64]))
    assert found[-2:] == ["RuntimeError: CUDA out of memory", "x" * 64]
    assert found[1:-2] == ["[redacted]"] * 5


def test_a_key_in_yaml_keeps_its_indent() -> None:
    found = read("\n".join(["data:", "  key: |", *(f"    {line}" for line in [*KEY, END]), "  user: me"]))
    assert found[3] == "    [redacted]"
    assert found[-1] == "  user: me"


def test_keys_that_each_have_a_line_of_their_own_stay_for_later() -> None:
    lines = ["\\n".join([*KEY, END]), "RuntimeError: x", "\\n".join([*KEY, END])]
    assert read("\n".join(lines)) == lines


def test_a_text_full_of_beginnings_takes_no_long_time() -> None:
    text = "\n".join([KEY[0], "a b"] * 50_000 + [KEY[0] * 20_000])
    assert len(read(text)) == 100_001
