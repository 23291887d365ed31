"""What `ulimit -l` answered, on one host or on many, in a terminal's transcript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from gonogo.documents.awsrows import MOST_COMMANDS, lines_with

_COMMAND = re.compile(r"ulimit -l\b(?! +(?:\d|unlimited))")
_ECHOED = re.compile(r"\becho +(?P<words>.*?)['\"]?\s*$")
_WORD = re.compile(r"\$\([^)]*\)|\S+")
_VALUE = re.compile(r"unlimited|\d+")
MOST_ROWS = 1_000


def memlock(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """`{"MemlockLimits": [{"soft": "65536"}]}` in KiB of each command and its answers, with their place."""
    for start, end in islice(lines_with(_COMMAND, text), MOST_COMMANDS):
        column = _column(text[start:end])
        found = []
        for number, line in enumerate(text[end + 1 : end + 1 + 100 * MOST_ROWS].split("\n")):
            words = line.split()
            if not words or column is None or not -len(words) <= column < len(words):
                break
            if not _VALUE.fullmatch(words[column]):
                break
            found.append({"": number + 1, "soft": words[column]})
        if found:
            yield {"MemlockLimits": found}, start, end


def _column(command: str) -> int | None:
    """Which word of an answer is the limit: the last one, but for an echo of several; None for what can't be told."""
    echoed = _ECHOED.search(command)
    if not echoed:
        return -1 if command.count("ulimit") == 1 else None
    words = _WORD.findall(echoed["words"])
    return next((i for i, word in enumerate(words) if "ulimit -l" in word), None)
