"""A run's objects as they may be printed: output lands in logs of CI, so secret values of variables stay out of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gonogo.agent.spec import Spec
from gonogo.documents.redact import REDACTED, redact
from gonogo.launch.manifests import SPEC

Object = dict[str, Any]

_GONE = REDACTED.decode()


def without_secrets(objects: Sequence[Object]) -> tuple[list[Object], list[str]]:
    """The same objects, and the names of the variables whose values were taken out."""
    shown = copy.deepcopy(list(objects))
    names: dict[str, None] = {}
    for item in shown:
        for variable in _variables(item):
            name, value = str(variable["name"]), str(variable["value"])
            if _is_secret(name, value):
                variable["value"], names[name] = _GONE, None
        if text := (item.get("data") or {}).get(SPEC):
            spec = Spec.from_json(text)
            secret = {name for name, value in spec.environment.items() if _is_secret(name, value)}
            spec.environment.update(dict.fromkeys(secret, _GONE))
            item["data"][SPEC] = spec.to_json()
            names |= dict.fromkeys(sorted(secret))
    return shown, sorted(names)


def _is_secret(name: str, value: str) -> bool:
    """By its name, or by the shape of its value."""
    told = f"{name}={value}".encode()
    return redact(told) != told


def _variables(value: object) -> Iterator[Object]:
    """The literal ones of every container."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            if key == "env" and isinstance(part, list):
                yield from (e for e in part if isinstance(e, dict) and "name" in e and isinstance(e.get("value"), str))
            else:
                yield from _variables(part)
    elif isinstance(value, list):
        for part in value:
            yield from _variables(part)
