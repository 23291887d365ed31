"""What the coordinator says while a framework step runs: that a member of the group is lost, or nothing ever again.

A framework learns of a node without power by its timeouts alone, a minute later; agents know it within seconds.
"""

from __future__ import annotations

import asyncio
from typing import Any

PARTING_SECONDS = 3.0
"""How long ranks may go on in a group that can't end well: many know it as soon as we do, and can say so themselves."""


class Ahead:
    """The coordinator's next word, or its loss, awaited while the step runs."""

    def __init__(self, word: asyncio.Task[dict[str, Any]]) -> None:
        self.word = word
        self._known: float | None = None  # since when the group is known to be broken

    def parted(self, now: float) -> bool:
        """Whether a member of the group, or the coordinator, has been known as lost for long enough.

        `now` is seconds of any steady clock, the same for all calls.
        """
        if not self.word.done() or (not self.word.exception() and self.word.result()["do"] != "stop"):
            return False
        self._known = now if self._known is None else self._known
        return now - self._known >= PARTING_SECONDS
