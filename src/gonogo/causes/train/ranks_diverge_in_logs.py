"""Parameters differ between ranks.

## What is wrong
Ranks that should hold the same parameters don't: different seeds without a broadcast, a rank that skipped an update, or
wrong results of hardware.

## Fix
DDP's own broadcast at the start (don't bypass it), the same seed for the model, no parameters outside of DDP.

## Source
https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("train.ranks_diverge", also=True)
def ranks_diverge_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where checksums of one step differ between ranks."""
    if words := events.of("train.ranks_differ"):
        yield diagnosis(
            "train.ranks_diverge",
            f"A check found ranks that differ: {words.first.get('error')[:120]}.",
            words,
            events.of("train.seed"),
            repair=Repair.CHANGE_CODE,
        )
        return
    for table in objects.of("csv"):
        columns = [str(c).strip().lower() for c in table.items("columns")]
        sums = next((i for i, c in enumerate(columns) if re.search("sha|checksum|hash", c)), None)
        if sums is None or "step" not in columns or "rank" not in columns:
            continue
        by_step: dict[str, dict[str, int]] = {}
        for i, row in enumerate(table.items("rows")):
            by_step.setdefault(row[columns.index("step")], {}).setdefault(row[sums], i)
        apart = {step: found for step, found in by_step.items() if len(found) > 1}
        if apart:
            step, found = next(iter(apart.items()))
            yield diagnosis(
                "train.ranks_diverge",
                f"At step {step} the parameters of ranks differ: {len(found)} checksums.",
                [table.cite(("rows", i)) for i in found.values()],
                events.of("train.seed"),
                repair=Repair.CHANGE_CODE,
            )
    told: dict[int, dict[str, Event]] = {}
    for e in events.of("train.checksum"):
        if e.who.rank is not None:
            told.setdefault(int(e["step"]), {}).setdefault(e.get("sum"), e)
    differ = {step: sums for step, sums in told.items() if len({e.who.rank for e in sums.values()}) > 1}
    if differ:
        first = min(differ)
        yield diagnosis(
            "train.ranks_diverge",
            f"At step {first} the parameters of ranks differ: {len(differ[first])} checksums.",
            Events(tuple(differ[first].values())),
            events.of("train.seed"),
            repair=Repair.CHANGE_CODE,
        )
