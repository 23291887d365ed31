"""Training that became slower: steps that took about as long as each other, and then all took longer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.model import Evidence

LEAST_STEPS = 8
"""Of each of both, before a change of pace is more than a checkpoint or an evaluation."""
LEAST_RATIO = 1.5
FEW_STEPS = 3
"""Of each are enough, where they differ by less than EVEN: a row most often tells of many steps."""
FEW_ROWS = 2  # of each, where a row is a run
_ORDERED = re.compile(r"(?i)\W*(?:date|day|week|time|timestamp|started|start|run|run_id|epoch|step|iter)\b")
_SIDE_BY_SIDE = re.compile(r"(?i)\W*(?:node|host|rank|gpu|pod|instance)(?:_?(?:name|id))?\W*$")
_SPEED = re.compile(
    r"(?i)(?:tok(?:en)?s?|samples|images|imgs?|seqs?|steps|it)_?(?:/|_?per_?)s|through?put|\btps\b|\bmfu\b"
)
_COST = re.compile(
    r"(?i)(?:step|iter|iteration|batch)[_ ]?(?:time|(?:seconds|ms|s)\b)|(?:s|sec|seconds|ms)_?(?:/|_?per_?)(?:step|it)"
)
EVEN = 1.1
LEAST_RATIO_OF_EVEN = 1.15
_RATE = re.compile(
    r"(?i)(?:tok(?:en)?s?|samples|images)_per_s(?:ec(?:ond)?)?[\"']?\s*[=:]\s*(?P<rate>\d[\d,]*(?:\.\d+)?)"
)


@dataclass(frozen=True, slots=True)
class Slowing:
    """The medians before and after, and the first slower step."""

    before: float
    after: float
    first: Event

    @property
    def ratio(self) -> float:
        """How many times as long a step takes."""
        return self.after / self.before


def slowing(events: Events) -> Slowing | None:
    """The first file whose later steps are all slower than all but a few of the earlier ones."""
    by_file: dict[tuple[str, str], list[tuple[float, Event]]] = {}
    for e in events.of("train.step_seconds"):
        if (cost := _cost(e)) > 0:
            by_file.setdefault((e.file, e.get("of")), []).append((cost, e))
    return next((found for told in by_file.values() if (found := _of(told))), None)


def _cost(event: Event) -> float:
    """Seconds, or what grows with them: by what a second brings, where it tells that; steps may have become larger."""
    told = event.captures
    spoken = str(told.get("rate") or told.get("speed") or "")
    if not spoken and (found := _RATE.search(event.text)):
        spoken = found["rate"]
    if spoken:
        rate = float(spoken.replace(",", ""))
        return 1 / rate if rate else 0.0
    return float(told.get("seconds", 0)) or float(told.get("each", 0)) or float(told.get("ms", 0)) / 1000


def _of(told: list[tuple[float, Event]]) -> Slowing | None:
    at = change([cost for cost, _ in told])
    if not at:
        return None
    costs = [cost for cost, _ in told]
    return Slowing(median(costs[:at]), median(costs[at:]), told[at][1])


@dataclass(frozen=True, slots=True)
class SlowerRows:
    """A table of runs or moments, what its column came to, and from which row on."""

    ratio: float
    column: str
    evidence: Evidence


def slower_rows(objects: Objects) -> SlowerRows | None:
    """The first table in order of time whose speed is lower for good from some row on, or whose cost is higher."""
    for table in objects.of("csv"):
        columns, rows = [str(c) for c in table.items("columns")], table.items("rows")
        if not any(_ORDERED.match(c) for c in columns) or any(_SIDE_BY_SIDE.match(c) for c in columns):
            continue
        for place, column in enumerate(columns):
            costs = _costs(rows, place, column)
            if at := change(costs, FEW_ROWS):
                line = table.file.text[: table.parsed.start].count("\n") + at + 2
                told = table.file.text.split("\n")[line - 1]
                return SlowerRows(
                    median(costs[at:]) / median(costs[:at]), column, Evidence(told, table.file.name, line)
                )
    return None


def _costs(rows: Sequence[Sequence[str]], place: int, column: str) -> list[float]:
    speed, cost = _SPEED.search(column), _COST.search(column)
    if not (speed or cost):
        return []
    try:
        values = [float(str(row[place]).replace(",", "")) for row in rows]
    except (ValueError, IndexError):
        return []
    if not values or min(values) <= 0:
        return []
    return [1 / v for v in values] if speed else values


def change(costs: Sequence[float], few: int = FEW_STEPS) -> int:
    """The place of the first cost that is higher for good, 0 for none: of many that vary, or a few that hardly do."""
    for at in range(few, len(costs) - few + 1):
        before, after = costs[:at], costs[at:]
        if _is_even(before) and _is_even(after) and min(after) >= LEAST_RATIO_OF_EVEN * max(before):
            return at
        if min(len(before), len(after)) < LEAST_STEPS:
            continue
        usual = median(before)
        if min(after) >= LEAST_RATIO * usual and sorted(before)[int(0.8 * at)] < LEAST_RATIO * usual:
            return at
    return 0


def _is_even(costs: Sequence[float]) -> bool:
    return max(costs) <= EVEN * min(costs)
