"""Flags that several commands share, and how their values are read."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter, Token, validators

from gonogo.cli.screen import note
from gonogo.errors import InputError, shown
from gonogo.model import Level

TARGET = Group.create_ordered("Target")
CHOICE = Group.create_ordered("What to check")
OUTPUT = Group.create_ordered("Output")

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
MOST_NODES_HERE = 16
MOST_NODES = 100_000


def duration(hint: Any, tokens: Sequence[Token]) -> float:
    """`30s`, `5m`, `1h30m` in seconds."""
    text = tokens[0].value
    parts = re.findall(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)([smh])", text)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if "".join(n + u for n, u in parts) != text or seconds <= 0:
        raise ValueError(f"expected a duration such as 30s or 5m, found {shown(text)}.")
    return seconds


def dollars(hint: Any, tokens: Sequence[Token]) -> float:
    """`20`, `17.50` or `$20`."""
    text = tokens[0].value
    if not re.fullmatch(r"\$?[0-9]{1,9}(\.[0-9]{1,4})?", text):
        raise ValueError(f"expected US dollars such as 20 or 17.50, found {shown(text)}.")
    return float(text.removeprefix("$"))


def path_or_stdin(hint: Any, tokens: Sequence[Token]) -> Path:
    """A path, or `-`; another flag is no path, and means that the path was forgotten."""
    text = tokens[0].value
    if text.startswith("-") and text != "-":
        raise ValueError(f"expected a file, or - for stdin, found {shown(text)}.")
    return Path(text)


def namespace(hint: Any, tokens: Sequence[Token]) -> str:
    """The name of a namespace: a DNS label, as the API server demands it."""
    text = tokens[0].value
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", text):
        raise ValueError(f"expected lower-case letters, digits and - as in a DNS label, found {shown(text)}.")
    return text


Filename = Annotated[
    Path | None,
    Parameter(
        ["--filename", "-f"],
        group=TARGET,
        converter=path_or_stdin,
        allow_leading_hyphen=True,
        help="Plan of the cluster, YAML; - reads stdin.",
    ),
]
Nodes = Annotated[
    int | None,
    Parameter("--nodes", group=TARGET, validator=validators.Number(gte=1, lte=MOST_NODES),
              help="How many nodes to make on this machine, 1 to 16, or to use of a cluster. [default: the plan's, or "
              "4 here, all there]"),
]  # fmt: skip
LevelFlag = Annotated[
    Literal["read", "quick", "standard", "deep"] | None,
    Parameter(
        "--level",
        group=CHOICE,
        help="How much to run: each level holds the ones before. read starts nothing, and needs a "
        "cluster (--context). [default: standard]",
    ),
]
Only = Annotated[
    list[str] | None,
    Parameter(
        "--only",
        metavar="WORD",
        group=CHOICE,
        help="Run these checks alone: ids, areas (storage, or STO) or globs; with commas, or repeated.",
    ),
]
Skip = Annotated[
    list[str] | None,
    Parameter(
        "--skip", metavar="WORD", group=CHOICE, help="Leave these out; ID=reason puts the reason into the report."
    ),
]
Timeout = Annotated[
    float | None,
    Parameter(
        "--timeout",
        group=CHOICE,
        converter=duration,
        metavar="DURATION",
        help="End the run after this long, such as 30s or 5m.",
    ),
]


MaxCost = Annotated[
    float | None,
    Parameter(
        "--max-cost",
        group=CHOICE,
        converter=dollars,
        metavar="DOLLARS",
        help="Start nothing if the cluster's nodes may cost more, by list price, for as long as the run may take.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True)
class Asked:
    """What a run looks at, and how: the same for all commands that run or judge one."""

    filename: Filename = None
    nodes: Nodes = None
    level: LevelFlag = None
    only: Only = None
    skip: Skip = None
    timeout: Timeout = None
    max_cost: MaxCost = None


Markdown = Annotated[
    Path | None,
    Parameter(
        "--markdown", group=OUTPUT, help="Also write Markdown, as for a comment on a pull request, to this file."
    ),
]


def level_for_agents(level: Level | None) -> Level:
    """The level of a run that starts agents. Raises InputError for `read`."""
    if level == "read":
        raise InputError("--level read only reads an API, and this machine has none. Expected quick, standard or deep.")
    return level or "standard"


def nodes_here(nodes: int | None) -> int | None:
    """`--nodes` for this machine. Raises InputError for more than it can hold."""
    if nodes is not None and nodes > MOST_NODES_HERE:
        raise InputError(f"--nodes: must be <= {MOST_NODES_HERE} on this machine, not {nodes}.")
    return nodes


def can_write(path: Path | None) -> None:
    """Raises InputError for a file that can't be written: told before the run, not after it. Leaves nothing behind."""
    if path is None:
        return
    try:
        if path.is_dir() or not path.parent.is_dir():
            raise InputError(f"{path}: can't be written: expected a file in a folder that is there.")
        is_new = not os.path.lexists(path)
        with path.open("a"):
            pass
        if is_new:
            path.unlink()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: can't be written: {getattr(error, 'strerror', None) or error}.") from None


def write(path: Path, text: str) -> bool:
    """Write a report to a file; where that fails say so, leave no half of it, and return False."""
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        note(f"{path}: can't be written: {error.strerror}.")
        with contextlib.suppress(OSError):
            if path.is_file() and not path.is_symlink():
                path.unlink()
        return False
    return True
