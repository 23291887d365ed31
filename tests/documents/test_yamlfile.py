"""YAML is read with places, strictly, and nothing hostile gets through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gonogo.documents.yamlfile import Mark, YamlFile, parse, read_file
from gonogo.errors import InputError


def test_values_and_keys_have_places() -> None:
    file = parse(b"a:\n  b: [1, two]\n", "f.yaml")
    assert file.value == {"a": {"b": [1, "two"]}}
    assert file.keys["a", "b"] == Mark(2, 3)
    assert file.values["a", "b", 1] == Mark(2, 10)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"10", 10), (b"0x1F", 31), (b"1.5e3", 1500.0), (b"true", True), (b"null", None), (b"~", None), (b"'1'", "1"),
        (b"22:30", "22:30"), (b"2026-01-01", "2026-01-01"), (b"010", "010"), (b"1_000", "1_000"), (b".inf", ".inf"),
        (b"4Gi", "4Gi"), (b"|\n  a\n  b\n", "a\nb\n"), (b"", None), (b"# only a comment", None),
        (b"&x [1]", [1]), (b"\xef\xbb\xbfa: 1", {"a": 1}),
    ],
)  # fmt: skip
def test_scalars_mean_what_they_look_like(text: bytes, value: object) -> None:
    found = parse(text, "f").value
    assert found == value
    assert type(found) is type(value)


BOMB = b"".join(
    b"%c: &%c [%b]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 9) if c > 97 else b"x") for c in range(97, 110)
)

REFUSED = {
    "twice": (b"a: 1\nb: 2\na: 3", "f:3:1: \"a\" stands twice, first in line 1."),
    "tag": (b"a: !!python/object/apply:os.system [id]", "f:1:4: tag"),
    "own tag": (b"a: !secret x", "f:1:4: tag"),
    "binary tag": (b"a: !!binary aGk=", "f:1:4: tag"),
    "boolean of old": (b"a: yes", "f:1:4: yes is ambiguous"),
    "merge": (b"a: &a {b: 1}\nc: {<<: *a}", "f:2:5: merge keys"),
    "key no text": (b"? [1]\n: 2", "f:1:3: a key must be text."),
    "two documents": (b"a: 1\n---\nb: 2", "f:3:1: a second document"),
    "not UTF-8": (b"a: b\nc: \xff", "f:2:4: byte 0xff isn't UTF-8"),
    "NUL": (b"a: \x00", "f:1:1: isn't YAML"),
    "open": (b"a: [1,", "isn't YAML"),
    "tab": (b"a:\n\tb: 1", "f:2:1: isn't YAML"),
    "alias to nothing": (b"a: *b", "isn't YAML"),
    "alias to itself": (b"a: &a [*a]", "aliases make this too large"),
    "alias bomb": (BOMB, "aliases make this too large"),
    "deep": (b"[" * 60 + b"]" * 60, "nested deeper than 50"),
    "very deep": (b"[" * 200_000, "f:1:"),
    "deep blocks": (b"".join(b" " * n + b"a:\n" for n in range(900)), "nested deeper than 50"),
    "many": (b"- a\n" * 60_000, "more than 50000 values"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_odd_files_are_refused_in_one_line(what: str) -> None:
    data, expected = REFUSED[what]
    with pytest.raises(InputError) as error:
        parse(data, "f")
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text("abcxyz 0123456789:-_'\"\\#é", max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abcxyz", min_size=1, max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(_JSON)
def test_json_is_read_as_json(value: object) -> None:
    assert parse(json.dumps(value, ensure_ascii=False).encode(), "f").value == value


@given(st.dictionaries(st.text("abcxyz", min_size=1, max_size=8), st.text("abc:#'\" -\n", max_size=20), max_size=5))
def test_text_survives(value: dict[str, str]) -> None:
    assert parse(yaml.safe_dump(value).encode(), "f").value in (value, value or None)


@given(st.binary(max_size=200) | st.text("ab:-[]{}&*!|>?#'\"\n \t%@`,", max_size=80).map(str.encode))
def test_any_bytes_give_a_value_or_one_line(data: bytes) -> None:
    try:
        assert isinstance(parse(data, "f"), YamlFile)
    except InputError as error:
        assert str(error).startswith("f:")
        assert str(error).isprintable()


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"#" * (2 << 20))
    for path, expected in (
        (tmp_path, "is a folder"),
        (tmp_path / "none", "No such file"),
        (large, "larger than 1 MiB"),
    ):
        with pytest.raises(InputError, match=expected):
            read_file(path)
    with pytest.raises(InputError, match="no regular file"):
        read_file(Path("/dev/zero"))
