"""Runs the ranks of one node beside each other: one framework child each, all watched by one agent."""

from __future__ import annotations

import time
from collections.abc import Callable

from gonogo.agent.child import GRACE_SECONDS, TICK_SECONDS, Child, begin, run_step
from gonogo.agent.records import Writer
from gonogo.agent.spec import Spec


def run_ranks(
    step: str,
    spec: Spec,
    ranks: list[int],
    members: list[str],
    addresses: list[str],
    writer: Writer,
    deadline: float,
    poll: Callable[[], str],
) -> None:
    """As run_step, for all ranks of this node at once; each has its own records, and its own `exit`."""
    first, *rest = ranks
    living = [child for rank in rest if (child := begin(step, spec, rank, members, addresses, writer))]

    def both() -> str:
        _look(living)
        return poll()

    reason = "stopped"
    try:
        run_step(step, spec, first, members, addresses, writer, deadline, both)
        why = both()
        while living and not why and time.monotonic() < deadline:
            living[0].pump(min(TICK_SECONDS, max(0.0, deadline - time.monotonic())))
            why = both()
        reason = why or "deadline"  # of those that still live
    finally:
        if reason == "deadline":
            _ask(living)
        for child in living:
            child.close(reason, was_asked=True)


def _ask(living: list[Child]) -> None:
    """Have all say at once where they hang: one by one, an agent of many ranks would be silent for too long."""
    for child in living:
        child.ask()
    until = time.monotonic() + GRACE_SECONDS
    while living and time.monotonic() < until:
        for child in living:
            child.pump(TICK_SECONDS / 2 / len(living))


def _look(living: list[Child]) -> None:
    """Take what they wrote, and close those that have ended: when one ended tells who was the first."""
    for child in list(living):
        child.pump(0)
        if child.ended():
            living.remove(child)
            child.close("")
