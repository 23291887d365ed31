"""Answers of AWS's API as documents: what `aws ec2 describe-… --output json` prints.

gonogo's own are `aws/<call>.json`; a user's own may have any name. They are kept as text, so that a line can be cited.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gonogo.documents.foreign import json_value
from gonogo.kernel import Lost
from gonogo.model import Status

FOLDER = "aws/"


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers to one question, as (file, text): several where pages or regions were asked apart."""

    plane: ClassVar[str] = "aws"
    call: ClassVar[str] = ""
    keys: ClassVar[tuple[str, ...]] = ()  # what an answer holds at its top

    files: tuple[tuple[str, str], ...]


class InstancesAnswer(Answers):
    """describe-instances."""

    call, keys = "describe-instances", ("Reservations",)


class SecurityGroupsAnswer(Answers):
    """describe-security-groups, or describe-security-group-rules."""

    call, keys = "describe-security-groups", ("SecurityGroups", "SecurityGroupRules")


DOCUMENTS: tuple[type[Answers], ...] = (InstancesAnswer, SecurityGroupsAnswer)
"""All documents of the AWS plane."""


def documents(files: Mapping[str, bytes]) -> dict[type, object]:
    """All documents of this plane from a bundle's or a user's files; {} if none of them is of this plane."""
    found: dict[type[Answers], list[tuple[str, str]]] = {}
    damaged: dict[type[Answers], str] = {}
    for name, data in sorted(files.items()):
        if not name.endswith(".json") or not _may_be_one(data):
            continue
        answer = _object(data)
        for kind in DOCUMENTS:
            if any(isinstance(answer.get(key), list) for key in kind.keys):
                found.setdefault(kind, []).append((name, data.decode("utf-8", "replace")))
            elif name == f"{FOLDER}{kind.call}.json":
                damaged[kind] = name
    if not found and not damaged:
        return {}
    made: dict[type, object] = {
        kind: Lost(f"The files hold no answer of {kind.call}.", Status.SKIP) for kind in DOCUMENTS
    }
    made |= {kind: kind(tuple(some)) for kind, some in found.items()}
    return made | {kind: Lost(f"{name} is damaged.") for kind, name in damaged.items()}


def _may_be_one(data: bytes) -> bool:
    """Told quickly, so that large files of others aren't read as JSON for nothing."""
    keys = (key for kind in DOCUMENTS for key in kind.keys)
    return data[:1000].lstrip()[:1] == b"{" and any(f'"{key}"'.encode() in data for key in keys)


def _object(data: bytes) -> dict[str, object]:
    try:
        whole = json_value(data)
    except ValueError:
        return {}
    return whole if isinstance(whole, dict) else {}
