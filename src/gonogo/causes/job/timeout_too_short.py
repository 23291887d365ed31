"""A slow step outlasts the timeout.

## What is wrong
Rank 0 evaluates, saves, downloads or compiles while the others already wait in a collective, for longer than the
process group's timeout. Nothing is broken.

## Fix
A longer timeout in init_process_group, or a barrier-free slow step.

## Source
https://pytorch.org/docs/stable/distributed.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

LEAST_SECONDS = 60.0
"""Of a slow step, where no line tells the timeout."""

NEARLY = 0.95
"""Of the timeout, what a bar shows that was drawn a little before it."""


@cause("job.timeout_too_short", refines=("job.rank_stalled",), also=True)
def timeout_too_short(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a rank reports the end of a slow step after the others' timeout, in its own log."""
    expired = events.of("c10d.watchdog_timeout", "c10d.store_wait_timeout", "c10d.monitored_barrier", "gloo.timeout")
    done = events.of("train.slow_step")
    late = [e for e in done if any(_outlasts(e, x) for x in expired)]
    bars = [e for e in (*events.of("train.slow_bar"), *_of_evaluations(events)) if e.writer not in expired.writers]
    long = [
        e
        for e in (*done, *bars)
        if (s := _seconds(e))
        and not _is_before(e, expired)
        and any(ms / 1000 * NEARLY <= s for x in expired if (ms := _timeout_ms(x)))
    ]
    under_way = events.of("train.evaluation_progress")
    alone = not set(under_way.writers) & set(expired.writers)  # where all evaluate, nobody waits for one
    busy = [e for e in under_way if alone and e.writer not in expired.writers and expired and _until(e, expired)]
    busy = busy if len({e.writer for e in busy}) == 1 else []
    if expired and (late or long or busy):
        shown = Events(tuple(long or late or busy[-1:] + busy[:1]))
        yield diagnosis(
            "job.timeout_too_short",
            f"{shown.first.who} was in a slow step ({shown.first.get('what') or 'evaluation'}) for longer than "
            f"the others' timeout.",
            shown,
            expired,
            repair=Repair.CHANGE_CODE,
            next_observation="Whether the job goes on with more time: init_process_group(timeout=timedelta(hours=2)).",
        )


def _of_evaluations(events: Events) -> list[Event]:
    """The bars without a name below a line that says that an evaluation begins."""
    begun = events.of("train.evaluation_begun")
    return [
        bar
        for bar in events.of("train.nameless_bar")
        if any(e.file == bar.file and e.writer == bar.writer and e.line < bar.line for e in begun)
    ]


def _outlasts(step: Event, expired: Event) -> bool:
    """Whether a step of another rank ended after a timeout, and took a good part of the time until then."""
    if not step.when or not expired.when or step.writer == expired.writer or step.when.clock != expired.when.clock:
        return False
    least = _timeout_ms(expired) / 1000 or LEAST_SECONDS
    return step.when.seconds >= expired.when.seconds - 1 and 2 * _seconds(step) >= least


def _timeout_ms(expired: Event) -> int:
    return int(expired.captures.get("timeout_ms", 0) or expired.captures.get("ms", 0))


def _is_before(step: Event, expired: Events) -> bool:
    """Whether a step was over long before all timeouts: the others did not wait for it then."""
    told = [x.when.seconds for x in expired if x.when and step.when and x.when.clock == step.when.clock]
    return bool(told) and step.when is not None and step.when.seconds < min(told) - 120


def _until(event: Event, expired: Events) -> bool:
    """Whether a rank was still at work in the two minutes before another one's timeout."""
    first = expired.timeline[0] if expired.timeline else None
    if not first or not first.when or not event.when or event.when.clock != "wall":
        return False
    year = 365.25 * 86400
    apart = (first.when.seconds - event.when.seconds) % (year / 365.25)  # clocks without a year, or a date
    return apart < 120 or apart > 86400 - 120


def _seconds(event: Event) -> float:
    if "minutes" in event.captures:
        return (
            3600.0 * int(event.captures.get("hours", 0))
            + 60 * int(event["minutes"])
            + int(event.captures.get("seconds", 0))
        )
    value, unit = event.get("took"), event.get("unit")
    return float(value) * {"m": 60, "h": 3600}.get(unit[:1], 1) if value else 0.0
