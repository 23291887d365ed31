"""Storage is far below what the job needs.

## What is wrong
A file system whose burst credits are used up, or of too little provisioned throughput, feeds the job at a trickle:
steps wait for data.

## Fix
Elastic or provisioned throughput for EFS, more capacity or throughput for FSx, or the data set on local NVMe.

## Source
https://docs.aws.amazon.com/efs/latest/ug/performance.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Object, Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("storage.slow", refines=("train.data_loading_bound",), also=True)
def slow_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a file system's burst credits are at zero and steps wait for data."""
    waits = Events(
        tuple(
            e
            for e in events.of("train.step_times", "train.meter_times")
            if 0.4 * float(e["step"]) < float(e["data"]) <= float(e["step"])
        )
    )
    crawls = Events(tuple(e for e in events.of("storage.measured") if _mb_per_second(e) < LEAST_MB_PER_SECOND))
    late = Events(
        tuple(
            e
            for e in events.of("train.slow_step")
            if re.search("(?i)checkpoint|sav", e.get("what")) and _seconds(e) >= 60
        )
    )
    balances = [(m, values) for m in objects.of("MetricDataResults", "answer") if (values := _balance(m))]
    empty = [m for m, values in balances if max(values) <= 0 or (values[-1] < 0.01 * max(values) and (waits or late))]
    if crawls and (waits or late) and not empty:
        yield diagnosis(
            "storage.slow",
            f"A test of the file system moves {_mb_per_second(crawls.first):.0f} MB/s, and the job waits for it.",
            crawls,
            late,
            waits,
            events.of("host.mount"),
            [f.cite("LustreConfiguration.PerUnitStorageThroughput") for f in objects.of("FileSystems")],
            repair=Repair.CHANGE_STORAGE,
            commands=(
                "fio --name=t --directory=<path> --rw=write --bs=1M --size=4G --direct=1 --unlink=1  # from one "
                "pod, then all",
            ),
        )
    if empty:
        bursting = [f for f in objects.of("FileSystems") if f.get("ThroughputMode") == "bursting"]
        yield diagnosis(
            "storage.slow",
            "The file system's burst credits are used up: it is held at its base throughput.",
            [m.cite("Label") for m in empty],
            [f.cite("ThroughputMode") for f in bursting],
            waits,
            repair=Repair.CHANGE_STORAGE,
            commands=("aws efs update-file-system --file-system-id <file-system> --throughput-mode elastic",),
        )


LEAST_MB_PER_SECOND = 100.0
"""Below this a single stream can't feed one GPU or save one checkpoint in time."""
_UNITS = {"K": 1e-3, "k": 1e-3, "M": 1.0, "G": 1e3}


def _balance(metric: Object) -> list[float]:
    """What was left of a file system's credits, from the earliest moment to the latest."""
    if "BurstCredit" not in str(metric.get("Label")):
        return []
    points = [p for p in metric.items("Datapoints") if isinstance(p, dict)]
    values = [next((p[k] for k in ("Average", "Minimum", "Maximum") if k in p), None) for p in points]
    values = values or metric.items("Values")
    times = [str(p.get("Timestamp")) for p in points] or [str(t) for t in metric.items("Timestamps")]
    if not all(isinstance(v, int | float) for v in values):
        return []
    if len(times) != len(values):  # the latest comes first, unless asked otherwise
        return [*reversed(values)]
    return [value for _, value in sorted(zip(times, values, strict=True))]


def _mb_per_second(event: Event) -> float:
    rate, unit = (event["rate"], event.get("unit")) if "rate" in event.captures else (event["dd"], event.get("dd_unit"))
    return float(rate) * _UNITS[unit[:1]]


def _seconds(event: Event) -> float:
    return float(event["took"]) * {"m": 60, "h": 3600}.get(event.get("unit")[:1], 1)
