"""What a set of bad directed pairs has in common: all of them, a node, a direction, or just those pairs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["all", "node", "into", "out of", "pairs"]
_KINDS: tuple[Kind, ...] = ("node", "into", "out of")
Pair = tuple[str, str]  # from, to

MOST = 4
"""Pairs that are listed by name."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Bad pairs that share one explanation; `nodes` are who is at fault, empty where it is the pairs themselves."""

    kind: Kind
    nodes: tuple[str, ...]
    pairs: tuple[Pair, ...]

    def spell(self, total: int) -> str:
        """To follow `is dropped `: between all 4 nodes, between node2 and the other 3 nodes, from node1 to node2 …"""
        others = f"the other {total - 1} nodes" if total > 2 else "the other node"
        match self.kind:
            case "all":
                return f"between all {total} nodes"
            case "node":
                return f"between {self.nodes[0]} and {others}"
            case "into":
                return f"into {self.nodes[0]} from {others}"
            case "out of":
                return f"out of {self.nodes[0]} to {others}"
        if {(b, a) for a, b in self.pairs} == set(self.pairs):
            return f"between {_listed([f'{a} and {b}' for a, b in self.pairs if a < b])}"
        return f"from {_listed([f'{a} to {b}' for a, b in self.pairs])}"

    @property
    def involved(self) -> frozenset[str]:
        """Every node of the pairs."""
        return frozenset(name for pair in self.pairs for name in pair)


def _listed(pairs: Sequence[str]) -> str:
    return ", ".join(pairs[:MOST]) + (f" and {len(pairs) - MOST} pairs more" if len(pairs) > MOST else "")


def shapes(bad: Collection[Pair], tried: Collection[Pair], names: Sequence[str]) -> list[Shape]:
    """The fewest shapes that hold all bad pairs; `tried` are all pairs that were looked at, bad or not.

    A node is at fault if all its pairs that were tried are bad, in both directions or in one, with two partners at
    least: of one pair alone nobody can say which end it is. If that is so of everybody, nobody in particular is.
    """
    rest = set(bad)
    shared = set.intersection(*(set(pair) for pair in rest)) if rest else set()
    if len(names) > 2 and rest >= set(tried) and not shared:
        return [Shape("all", tuple(names), tuple(sorted(rest)))] if rest else []
    found = []
    for kind in _KINDS:
        for name in sorted(names, key=lambda n: (-len(_mine(kind, n, rest)), names.index(n))):
            mine = _mine(kind, name, tried)
            partners = {n for pair in mine for n in pair} - {name}
            if len(partners) > 1 and mine <= set(bad) and mine & rest:
                found.append(Shape(kind, (name,), tuple(sorted(mine & rest))))
                rest -= mine
    if rest:
        found.append(Shape("pairs", (), tuple(sorted(rest))))
    return found


def _mine(kind: Kind, name: str, pairs: Collection[Pair]) -> set[Pair]:
    ends = {"node": (0, 1), "into": (1,), "out of": (0,)}[kind]
    return {pair for pair in pairs if name in [pair[end] for end in ends]}
