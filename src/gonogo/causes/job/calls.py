"""Which collectives the ranks of a job were in when they gave up."""

from __future__ import annotations

from gonogo.facts.events import Event, Events

MOST = 8
"""Ranks that are named of those that called one thing."""


def different_calls(events: Events) -> Events:
    """Timeouts of ranks in calls of one number that differ in kind or size; nothing where they agree."""
    by_number: dict[int, list[Event]] = {}
    for e in events.of("c10d.watchdog_timeout"):
        if "seq" in e.captures:
            by_number.setdefault(int(e["seq"]), []).append(e)
    for calls in by_number.values():
        if (
            len({e.who.rank for e in calls}) > 1
            and len({(e.get("op"), e.get("numel") or e.get("shape")) for e in calls}) > 1
        ):
            return Events(tuple(calls))
    return Events()


def told_apart(apart: Events) -> str:
    """`At call 1402 rank 2 called _ALLGATHER_BASE (1) and ranks 0, 1 called ALLREDUCE (8).`; "" for none."""
    calls: dict[str, list[int]] = {}
    for e in apart:
        size = e.get("numel") or e.get("shape")
        if e.who.rank is not None:
            calls.setdefault(f"{e.get('op')}{f' ({size})' if size else ''}", []).append(e.who.rank)
    if len(calls) < 2:
        return ""
    fewest = sorted(calls.items(), key=lambda c: (len(set(c[1])), c[0]))
    parts = [f"{_ranks(sorted(set(ranks)))} called {call}" for call, ranks in fewest]
    return f"At call {apart.all[0].get('seq')} {', '.join(parts[:-1])} and {parts[-1]}."


def _ranks(ranks: list[int]) -> str:
    shown = ", ".join(map(str, ranks[:MOST])) + (f" and {len(ranks) - MOST} more" if len(ranks) > MOST else "")
    return f"rank{'s' * (len(ranks) > 1)} {shown}"
