"""Who sees whose files on a path, and what holds the path on each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gonogo.facts.storage import PathProbe, Space


@dataclass(frozen=True, slots=True)
class Apart:
    """Nodes that don't see the files of the others, nor the others theirs, all on the same path."""

    path: str
    alone: tuple[PathProbe, ...]  # empty: all nodes apart from each other alike
    every: tuple[PathProbe, ...]
    blind: tuple[PathProbe, ...]  # those that miss somebody's files

    @property
    def nodes(self) -> tuple[str, ...]:
        """Who is at fault, or all."""
        return tuple(p.node for p in self.alone or self.every)

    @property
    def own_disks(self) -> bool:
        """Whether what holds the path shows it: a type that no two machines share, or another source than most have."""
        spaces = [p.space for p in self.alone or self.every]
        if any(s is None for s in spaces):
            return False
        usual = _usual([p.space for p in self.every if p.space])
        return all(s is not None and (not s.is_remote or (self.alone and _place(s) != usual)) for s in spaces)


def _place(space: Space) -> tuple[str, str]:
    return space.type, space.source


def _usual(spaces: list[Space]) -> tuple[str, str]:
    return Counter(_place(s) for s in spaces).most_common(1)[0][0]


def apart(path: str, probes: Mapping[str, PathProbe]) -> Apart | None:
    """None where everybody sees everybody's files, or where nobody could write any."""
    blind = tuple(p for p in probes.values() if p.unseen)
    if not blind:
        return None
    missed = Counter(name for p in blind for name in p.unseen)
    others = len(probes) - 1
    alone = tuple(p for p in probes.values() if len(p.unseen) == others or missed[p.node] >= others)
    return Apart(path, alone if len(alone) < len(probes) else (), tuple(probes.values()), blind)
