"""Causes come before their effects, and not days before: what strikes once and was at another time is none."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gonogo.facts.about import is_fault, is_of_the_platform
from gonogo.facts.events import Event
from gonogo.facts.lines import UNKNOWN_YEAR

STRIKES_ONCE = ("kernel.oom", "k8s.oom", "node.interruption", "node.not_ready", "slurm.node_failed", "gpu.xid")
LASTING_XIDS = (62, 64, 74, 79, 119, 120, 140, 143, 154)
"""After these the GPU stays as it is until somebody resets, restarts or replaces it."""
LONGEST_BEFORE_SECONDS = 86_400.0
LONGEST_AFTER_SECONDS = 600.0
"""Clocks differ, and a notice may be read late."""
ZONES_SECONDS = 14 * 3600.0
"""How far a clock that tells no zone may be off."""
_ZONE = re.compile(r"\d(?:Z|[+-]\d\d:?\d\d)\b")


def in_time(events: Iterable[Event]) -> list[Event]:
    """All but what struck once and long before the first rank failed, or after the last one had."""
    told = list(events)
    failed = [e for e in told if is_fault(e) and not is_of_the_platform(e) and _seconds(e) is not None]
    if not failed:
        return told
    times = [t for e in failed if (t := _seconds(e)) is not None]
    is_zoned = all(_ZONE.search(e.text[:200]) for e in failed)
    first, last = min(times) - LONGEST_BEFORE_SECONDS, max(times) + LONGEST_AFTER_SECONDS

    def is_in_time(event: Event) -> bool:
        off = 0.0 if is_zoned and _ZONE.search(event.text[:200]) else ZONES_SECONDS
        return (t := _seconds(event)) is None or first - off <= t <= last + off

    return [e for e in told if not _strikes_once(e) or is_in_time(e)]


def _strikes_once(event: Event) -> bool:
    return event.signature.startswith(STRIKES_ONCE) and event.captures.get("xid") not in LASTING_XIDS


def _seconds(event: Event) -> float | None:
    """By a clock with a year; None for any other."""
    when = event.when
    return when.seconds if when and when.clock == "wall" and when.year != UNKNOWN_YEAR else None
