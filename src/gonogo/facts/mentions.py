"""Lines that name a fault and report none: patterns to look for, code that would print it, quotes in a sentence."""

from __future__ import annotations

import re

SEARCH = re.compile(
    r"""(?:^|[|;&`$#>(] ?|\s)(?:[efz]?grep|rg|awk|sed|echo|printf) [^|]{0,80}["']"""
    r"""|^\s*(?:(?:el)?if ["'].* in |raise \w+\(f?["']|log(?:ger|ging)?\.\w+\(f?["']|print\(f?["'])"""
)
"""A search or an echo, or a line of code: there may be no such line at all."""
QUOTED = re.compile(r"`[^`]+`")


def may_mention(line: str) -> bool:
    """Whether a line might only speak of what the same words elsewhere report."""
    return bool(SEARCH.search(line[:2_000]) or QUOTED.search(line[:2_000]))
