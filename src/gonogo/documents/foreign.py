"""JSON and YAML of foreign hands: what is odd in it is a ValueError, and what comes out can be encoded again."""

from __future__ import annotations

import json
import re
from typing import Any

MOST_VALUES = 2_000_000  # with aliases written out: 16 MiB hold fewer
MOST_DEPTH = 200
_SURROGATE = re.compile("[\ud800-\udfff]")


def json_value(text: bytes | str) -> Any:
    """The value of one JSON text. Raises ValueError for whatever is wrong with it, nesting included."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    escape = b"\\u" if isinstance(text, bytes) else "\\u"
    return plain(value) if escape in text else value  # type: ignore[operator]


def yaml_values(text: bytes) -> list[Any]:
    """The values of all documents in a YAML text, as JSON could hold them. Raises ValueError as `json_value` does."""
    import yaml  # takes a while to load, and few texts are YAML

    try:
        documents = list(yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"isn't YAML: {type(error).__name__}") from None
    walk = _Plain(min(MOST_VALUES, 4 * len(text)))
    return [walk.of(document) for document in documents]


def plain(value: Any, most: int = MOST_VALUES) -> Any:
    """A value that was read, with nothing in it that can't be written. Raises ValueError as `json_value` does.

    So it does for more than `most` values: as many as its text has characters are enough, but for a few aliases.
    """
    return _Plain(min(most, MOST_VALUES)).of(value)


class _Plain:
    """Counts what it passes, since an alias costs nothing to write and everything to read."""

    def __init__(self, most: int) -> None:
        self._count, self._most = 0, most

    def of(self, value: Any, depth: int = 0) -> Any:
        self._count += 1
        if depth > MOST_DEPTH or self._count > self._most:
            raise ValueError("nested too deep, or made too large by aliases")
        match value:
            case str():
                return _SURROGATE.sub("\ufffd", value)
            case dict():
                return {self._key(key): self.of(inner, depth + 1) for key, inner in value.items()}
            case list() | tuple() | set():
                return [self.of(inner, depth + 1) for inner in value]
            case None | bool() | int() | float():
                return value
            case _:  # YAML's dates and binaries
                return str(value)

    def _key(self, key: Any) -> str:
        return self.of(key) if isinstance(key, str) else str(key)
