"""JSON and YAML of foreign hands: a value that can be encoded again, or a ValueError."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gonogo.documents import replay
from gonogo.documents.foreign import json_value, plain, yaml_values
from gonogo.errors import InputError

BOMB = "a: &x0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(f"b{i}: &x{i + 1} [{','.join([f'*x{i}'] * 10)}]\n" for i in range(8))

HOSTILE = {
    "surrogate.json": b'{"kind":"Pod","metadata":{"name":"\\ud800"}}',
    "surrogate-lines.json": b'{"kind":"PodList","items":[\n{"metadata":{"name":"\\ud800"}}\n]}',
    "large-number.json": b'{"kind":"Pod","metadata":{"name":"x","generation":' + b"9" * 400 + b"}}",
    "nan.json": b'{"kind":"Pod","metadata":{"name":"x","generation":NaN}}',
    "deep.json": b'{"kind":"Pod","a":' + b"[" * 200_000,
    "deep-lines.json": b'{"kind":"PodList","items":[\n{"a":' + b"[" * 200_000 + b"\n]}",
    "kind-is-a-number.json": b'{"kind":5,"items":[\n{"kind":"Pod"}\n]}',
    "no-kind.json": b'{"items":[\n{"kind":"Pod"}\n]}',
    "broken-head.json": b'{"kind:,"items":[\n{"kind":"Pod"}\n]}',
    "aws-deep.json": b'{"SecurityGroups":' + b"[" * 200_000,
    "aws-surrogate.json": b'{"SecurityGroups":[{"GroupId":"\\udfff"}]}',
    "itself.yaml": b"kind: Pod\nmetadata: &a {name: x, a: *a}\n",
    "aliases.yaml": b"kind: Pod\nmetadata: {name: x}\n" + BOMB.encode(),
    "keys.yaml": b"kind: Pod\nmetadata: {name: x, null: y, 1.5: z, true: 2}\n",
    "types.yaml": b"kind: Pod\nmetadata: {name: 2020-01-01, b: !!binary aGk=, s: !!set {a}}\n",
    "deep.yaml": b"kind: Pod\nmetadata: {name: x}\na: " + b"[" * 900 + b"]" * 900,
    "latin.yaml": b"kind: Pod\nmetadata: {name: \xe9}\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_objects_are_read_or_refused_in_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(HOSTILE[name])
    try:
        found = replay.read(tmp_path)
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert found.logs


def test_half_a_character_is_replaced_in_keys_and_values() -> None:
    assert json_value(b'{"a\\ud800": ["\\udc00b", "\\ud83d\\ude00"]}') == {"a\ufffd": ["\ufffdb", "\U0001f600"]}
    assert json_value('"\\\\ud800"') == "\\ud800"


def test_what_an_alias_makes_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        yaml_values(BOMB.encode())


def test_a_small_bomb_costs_no_more_than_a_text_of_its_size() -> None:
    flat = [0] * 1_000
    assert plain(flat, most=1_001) == flat
    with pytest.raises(ValueError, match="too large"):
        plain([flat] * 1_000, most=1_001)
    began = time.process_time()
    for _ in range(50):
        with pytest.raises(ValueError, match="too large"):
            yaml_values(BOMB.encode())
    assert time.process_time() - began < 10  # and not a second each


@given(st.binary(max_size=80) | st.text(max_size=80).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_give_what_can_be_encoded_or_a_value_error(data: bytes) -> None:
    for read in (json_value, yaml_values):
        try:
            value = read(data)
        except ValueError:
            continue
        json.dumps(value, ensure_ascii=False).encode()


@given(st.recursive(st.none() | st.text(st.characters(), max_size=4), st.lists, max_leaves=8))
def test_any_json_is_read(value: object) -> None:
    json.dumps(json_value(json.dumps(value)), ensure_ascii=False).encode()
