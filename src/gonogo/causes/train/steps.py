"""What a step of training is made of, from the tables that people's own loops write."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects
from gonogo.model import Evidence

_DATA = re.compile(r"(?i)data|load|fetch|input")
_SYNC = re.compile(r"(?i)comm|sync|all_?reduce|exposed|nccl")
_COMPUTE = re.compile(r"(?i)compute|forward|backward|optim|step_sec|gpu")
_SECONDS = re.compile(r"(?i)sec|time|_s$|_ms$")


@dataclass(frozen=True, slots=True)
class Share:
    """One row: seconds (or whatever unit the table has) of waiting for data, of exposed communication, and of all."""

    data: float
    sync: float
    total: float
    evidence: Evidence


def step_shares(objects: Objects) -> list[Share]:
    """The rows of all tables that part a step into data, compute and communication."""
    return [share for table in objects.of("csv") for share in _shares(table)]


def _shares(table: Object) -> list[Share]:
    columns = [str(c).strip() for c in table.items("columns")]
    timed = [i for i, c in enumerate(columns) if _SECONDS.search(c)]
    data = [i for i in timed if _DATA.search(columns[i])]
    sync = [i for i in timed if _SYNC.search(columns[i]) and i not in data]
    compute = [i for i in timed if _COMPUTE.search(columns[i]) and i not in (*data, *sync)]
    if not compute or not (data or sync):
        return []
    found = []
    for number, row in enumerate(table.items("rows")):
        try:
            values = {i: float(row[i]) for i in (*data, *sync, *compute)}
        except ValueError:
            continue
        total = sum(values.values())
        if total > 0:
            cited = table.cite(("rows", number))
            found.append(Share(sum(values[i] for i in data), sum(values[i] for i in sync), total, cited))
    return found


def timed(events: Events, name: str) -> tuple[float, Events] | None:
    """What share of a step a timer takes (`train.timer_sync` …), with its lines: the least that is told."""
    best: tuple[float, Events] | None = None
    for part in events.of(name):
        whole = [s for s in events.of("train.timer_step") if s.file == part.file and s.line <= part.line]
        if not whole:
            continue
        step = whole[-1]
        total = float(step.captures.get("total", 0)) or sum(float(step.captures.get(k, 0)) for k in ("fwd", "bwd"))
        share = float(part["least"]) / total if total else 0.0
        if share <= 1 and (best is None or share < best[0]):
            best = share, Events((part, step))
    return best
