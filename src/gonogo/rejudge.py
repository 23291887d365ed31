"""A bundle of an earlier run, judged again: what its agents' records say, beside what logs and objects say."""

from __future__ import annotations

from pathlib import Path

from gonogo import plan as plans
from gonogo import registry, target
from gonogo import verify as job
from gonogo.documents import replay
from gonogo.errors import InputError
from gonogo.model import Report
from gonogo.selection import reselect


def rejudge(path: Path) -> Report | None:
    """The run's report by today's checks and causes; None for a folder or archive that holds no run."""
    try:
        recorded = replay.read(path)
        plan = plans.recorded(recorded.run.get("plan"), str(path))
    except InputError:
        return None
    known = registry.load()
    selection = reselect(known, recorded.run)
    old = target.recorded(recorded.run, recorded.logs, recorded.notes, path.name)
    if old.run is None:
        return None
    return job.verify(old, plan, registry=known, selection=selection, run_id=old.run.id, level=old.run.level)
