"""Foreign text made safe for a terminal, and counts, durations and numbers in words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gonogo.model import FindingKey, Value

ASCII = {
    "·": "-", "×": "x", "→": "->", "←": "<-", "↔": "<->", "✓": "ok", "✗": "x", "…": "...", "–": "-", "—": "-",
    "≥": ">=", "≤": "<=", "≈": "~", "±": "+-", "α": "alpha", "β": "beta", "µ": "u", "’": "'", "“": '"', "”": '"',
}  # fmt: skip


GLUE = "\ue000"
"""Stands for a space while text is laid out. `clean` lets none of it in; wrappers take a no-break space for a space."""
_UNITS = r"s|ms|µs|us|min|h|%|bytes|[kKMGT]?i?B(?:/s)?|[kMGT]bit/s|files/s"
_APART = re.compile(rf"(?<=\d) (?=\d{{3}}(?!\d)|(?:{_UNITS})(?![\w/]))")


def clean(text: str, *, unicode: bool = True) -> str:
    """One line without control characters; ASCII only unless `unicode`."""
    text = "".join(c if c.isprintable() else " " for c in text)
    if unicode:
        return text
    return "".join(ASCII.get(c, c) for c in text).encode("ascii", "replace").decode()


def glued(text: str) -> str:
    """With the spaces inside of numbers, and before their units, as GLUE: no end of a line parts them."""
    return _APART.sub(GLUE, text)


def unglued(text: str) -> str:
    """The inverse, for text that is laid out."""
    return text.replace(GLUE, " ")


def count(number: int, one: str, many: str = "") -> str:
    """`1 node`, `3 nodes`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """`0.4 s`, `47 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def number(value: Value) -> str:
    """Three significant digits, without exponents where people would write none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.3g}"


def keys(found: Iterable[FindingKey]) -> str:
    """`COL001, LNK002 ×12`: findings by check."""
    counts: dict[str, int] = {}
    for key in found:
        counts[key.check] = counts.get(key.check, 0) + 1
    return ", ".join(f"{check} ×{n}" if n > 1 else check for check, n in sorted(counts.items()))
