"""Ranks that still worked when their step's time was up: how that would have ended is not known, so nobody is blamed.

Nor are those of their group that waited for them, or lost their connections when they were ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gonogo.facts.ranks import Rank
from gonogo.model import Evidence

STARVED = 0.5
"""Of the time in which it could have run, the share without a CPU from which on time says nothing of a rank."""
BEFORE_SECONDS = 3.0
"""An exit is told so long, at most, after the rank was asked to end, which the others may have felt at once."""


@dataclass(frozen=True, slots=True)
class OutOfTime:
    """One group's step that ended so; `since` is in seconds since 1970."""

    rank: Rank
    share: float
    since: float

    def leaves_open(self, rank: Rank) -> bool:
        """Whether what became of this rank says nothing: ended by its agent, or by what follows from that."""
        if rank.failure:
            return rank.failure.at_seconds >= self.since
        return rank.exit is not None and rank.exit.reason == "deadline"

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The record of its end."""
        return (self.rank.exit.evidence(self.rank.name),) if self.rank.exit else ()

    @property
    def said(self) -> str:
        """To follow a message and a colon."""
        at = self.rank.at or "its start"
        return f"when time was up {self.rank.name} was at work in {at}, for {self.share:.0%} of it without a CPU"


def out_of_time(ranks: Iterable[Rank]) -> OutOfTime | None:
    """What is known of a group's ranks whose time was up while the machine was too busy for them; None if of none."""
    ended = [(rank, rank.exit) for rank in ranks if rank.exit and rank.exit.reason == "deadline"]
    starved = [
        OutOfTime(rank, exit.starved, exit.at_seconds - BEFORE_SECONDS)
        for rank, exit in ended
        if exit.starved is not None and exit.starved >= STARVED
    ]
    return max(starved, key=lambda found: found.share, default=None)
