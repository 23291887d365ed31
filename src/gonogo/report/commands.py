"""Commands as people read them: the same one for several nodes is one line, which names them all."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ON_A_NODE = re.compile(r"(?P<command>.+?)  # on (?P<node>[\w.-]+)", re.DOTALL)
_MOST_NODES = 8


def folded(commands: Iterable[str], wide: bool = False) -> list[str]:
    """`df -h  # on node0, node1`, in the order in which commands first come; `wide` names however many nodes."""
    nodes: dict[str, list[str]] = {}
    for command in commands:
        match = _ON_A_NODE.fullmatch(command)
        nodes.setdefault(match["command"] if match else command, []).extend([match["node"]] if match else [])
    return [f"{command}  # on {_named(on, wide)}" if on else command for command, on in nodes.items()]


def _named(nodes: list[str], wide: bool) -> str:
    shown = nodes if wide or len(nodes) <= _MOST_NODES else nodes[: _MOST_NODES - 1]
    more = f" and {len(nodes) - len(shown)} more: -o wide" if len(shown) < len(nodes) else ""
    return ", ".join(shown) + more
