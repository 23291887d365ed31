"""Who can work together: the group of nodes that all reach each other, and why the others are not in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def together(nodes: Sequence[str], broken: Mapping[tuple[str, str], str]) -> tuple[list[str], dict[str, str]]:
    """The members, in the order given, and for each of the others the reason why it is left out.

    `broken` holds, per direction (from, to), why that direction can't be used; (a, a) means a does not reach itself.
    Greedy: the node with most broken partners leaves first (of equals the later one), and whoever fits at the end
    comes back. That finds the greatest group wherever faults sit on few nodes; a largest one in general is NP-hard.
    """
    partners: dict[str, set[str]] = {node: set() for node in nodes}
    for a, b in broken:
        if a in partners and b in partners:
            partners[a].add(b)
            partners[b].add(a)
    members = [node for node in nodes if node not in partners[node]]
    while worst := max(reversed(members), key=lambda m: len(partners[m] & set(members)), default=None):
        if not partners[worst] & set(members):
            break
        members.remove(worst)
    for node in nodes:
        if node not in members and node not in partners[node] and not partners[node] & set(members):
            members.append(node)
    members = [node for node in nodes if node in members]
    return members, {node: _reason(node, members, broken) for node in nodes if node not in members}


def _reason(node: str, members: Sequence[str], broken: Mapping[tuple[str, str], str]) -> str:
    if (node, node) in broken:
        return f"{node} does not reach itself: {broken[node, node]}"
    pairs = [pair for m in members for pair in ((m, node), (node, m)) if pair in broken]
    # with nobody left to work with, any broken pair of this node tells why
    pairs = pairs or [pair for pair in broken if node in pair]
    (a, b), *more = pairs
    others = f" (and {len(more)} more like this)" if more else ""
    return f"{a} does not reach {b}: {broken[a, b]}{others}"
