"""Values are found where they stand, and thousands of them as fast as the file is read."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gonogo.documents.positions import Positions
from gonogo.documents.structured import Parsed, line_of, parse

LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text('a":,[]{}\\\n ', max_size=4)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"\\:{,é', max_size=3), inner, max_size=3),
)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(p for step, inner in steps for p in paths(inner, (*path, step)))]


@given(VALUES, st.sampled_from([None, 0, 1]), st.text("\n ", max_size=3))
def test_every_value_of_json_is_found(value: Any, indent: int | None, before: str) -> None:
    text = f"{before}{json.dumps(value, indent=indent)}\nmore"
    known = Positions(text)
    for path in paths(value):
        at, inner = known.in_json(0, path), value
        for step in path:
            inner = inner[step]
        if path and isinstance(path[-1], str):
            key, at = json.JSONDecoder().raw_decode(text, at)
            assert key == path[-1]
            at = text.index(":", at) + 1
        at += len(text[at:]) - len(text[at:].lstrip())
        assert json.JSONDecoder().raw_decode(text, at)[0] == inner
        assert known.line(at) == text.count("\n", 0, at)


@pytest.mark.parametrize("text", ["", "x", '{"a', '{"a": ', '{"a": [1, ', "[" * 100_000])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises((ValueError, LookupError, RecursionError)):
        Positions(text).in_json(0, ("a", 0, "b"))


def listed(pods: int) -> dict[str, Any]:
    state = {"phase": "Failed", "reason": "x", "message": "of many lines\n- one\n- two\n"}
    return {
        "apiVersion": "v1",
        "items": [{"kind": "Pod", "metadata": {"name": f"t-{i}"}, "status": state} for i in range(pods)],
        "kind": "List",
    }


@pytest.mark.parametrize("indented", [False, True])
def test_every_item_of_a_yaml_list_is_found(indented: bool) -> None:
    text = yaml.safe_dump(listed(50))
    if indented:
        text = text.replace("\n- ", "\n  - ").replace("\n  ", "\n    ").replace("\n    - kind", "\n  - kind")
        assert yaml.safe_load(text)["items"][3]["kind"] == "Pod"
    text = f"# as it was\n---\n{text}"
    (parsed,) = parse(text)
    lines = text.split("\n")
    for i in range(50):
        assert lines[line_of(text, parsed, ("items", i, "metadata", "name")) - 1].strip() == f"name: t-{i}"
        assert lines[line_of(text, parsed, ("items", i, "status", "reason")) - 1].strip() == "reason: x"


@pytest.mark.parametrize("write", [json.dumps, lambda value: json.dumps(value, indent=1), yaml.safe_dump])
def test_twice_the_values_take_twice_the_time(write: Any) -> None:
    def seconds(pods: int) -> float:
        text = write(listed(pods))
        found = next(parse(text)) if write is not yaml.safe_dump else Parsed(listed(pods), "yaml", 0, len(text))
        begun = time.process_time()
        for i in range(pods):
            line_of(text, found, ("items", i, "status", "reason"))
        return time.process_time() - begun

    small, large = (min(seconds(pods) for _ in range(2)) for pods in (500, 8_000))
    assert large < 16 * 8 * small + 0.5  # a quadratic one takes 256 times as long
