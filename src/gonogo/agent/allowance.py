"""How long the framework steps may take: each its own time, and one reserve that all of them share.

A group that can't form, or a rank that hangs, costs the timeouts of its step. Whoever has waited them out once need not
be given as much again at the next step: that fails for the same reason, or it is healthy and takes its own time alone.
"""

from __future__ import annotations

from gonogo.agent.spec import Spec


class Allowance:
    """What is left of the reserve, as one agent counts it."""

    def __init__(self, spec: Spec) -> None:
        self._limits, self._reserve = spec.step_seconds, spec.shared_seconds
        self._used: dict[str, float] = {}

    def of(self, step: str) -> float:
        """Seconds that a step may take now: its limit, less what other steps took of the reserve."""
        used = sum(seconds for name, seconds in self._used.items() if name != step)
        return self._limits[step] - min(self._reserve, used)

    def spent(self, step: str, seconds: float) -> None:
        """A step is over; what it took beyond its own time it took of the reserve. The last word on a step counts."""
        own = self._limits[step] - self._reserve
        self._used[step] = max(0.0, seconds - own)
