"""Which of two lines of a file came later: by the ages in a table of events, by a clock, or by their places."""

from __future__ import annotations

import re

from gonogo.facts.events import Event

_AGE = re.compile(r"^\s*(?=\d+[dhms])(?:(?P<d>\d+)d)?(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m)?(?:(?P<s>\d+)s)?(?=[\s(])")
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def is_later(one: Event, other: Event) -> bool:
    """Whether one line tells of something after the other; both of one file. Tables are not always in order of time."""
    ages = _age(one.text), _age(other.text)
    if ages[0] is not None and ages[1] is not None and ages[0] != ages[1]:
        return ages[0] < ages[1]
    if one.when and other.when and one.when.clock == other.when.clock and one.when.seconds != other.when.seconds:
        return one.when.seconds > other.when.seconds
    return one.line > other.line


def _age(text: str) -> int | None:
    """Seconds, of `3h41m` at the start of a row of kubectl's."""
    found = _AGE.match(text)
    return sum(_SECONDS[unit] * int(n) for unit, n in found.groupdict().items() if n) if found else None
