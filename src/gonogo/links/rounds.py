"""Who is paired with whom: rounds of disjoint pairs, so that all pairs of a round can be measured at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

Pair = tuple[str, str]


def rounds(nodes: Sequence[str], count: int = 0) -> list[list[Pair]]:
    """The first `count` rounds (0: all) in which every node meets every other once, nobody twice in a round.

    The circle method: one node stands still, the others move on by one place a round. All takes n - 1 rounds for an
    even n, and n for an odd n, where somebody sits out each round.
    """
    if len(nodes) < 2:
        return []
    circle: list[str | None] = [*nodes] if len(nodes) % 2 == 0 else [*nodes, None]
    n = len(circle)
    found = []
    for _ in range(min(count, n - 1) if count else n - 1):
        met = zip(circle[: n // 2], reversed(circle[n // 2 :]))  # noqa: B905  # halves of an even number
        found.append([(a, b) for a, b in met if a is not None and b is not None])
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return found


def batches(pairs: Sequence[Pair], at_once: int) -> Iterator[Sequence[Pair]]:
    """The pairs of a round in groups of at most `at_once`; 0: all together."""
    size = at_once or max(1, len(pairs))
    return (pairs[i : i + size] for i in range(0, len(pairs), size))


def second_look(
    suspects: Sequence[str],
    good: Sequence[str],
    measured: Collection[Pair],
    accused: Sequence[Pair] = (),
    partners: int = 2,
) -> list[list[Pair]]:
    """Rounds in which accused pairs meet again, and each suspect up to `partners` known-good nodes.

    Partners that a suspect has not met yet come first. Nobody is twice in a round; with fewer good nodes than suspects
    there are more rounds.
    """
    met = {frozenset(pair) for pair in measured}
    wanted = list(accused)
    for turn, suspect in enumerate(suspects):
        rotated = [*good[turn % len(good) :], *good[: turn % len(good)]] if good else []
        order = sorted(rotated, key=lambda g: frozenset((suspect, g)) in met)
        wanted += [(suspect, partner) for partner in order[:partners]]
    found: list[list[Pair]] = []
    for pair in wanted:
        free = next((r for r in found if not any(set(pair) & set(other) for other in r)), None)
        if free is None:
            found.append([pair])
        else:
            free.append(pair)
    return found
