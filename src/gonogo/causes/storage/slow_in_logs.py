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
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("storage.slow", refines=("train.data_loading_bound",), also=True)
def slow_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where a file system's burst credits are at zero and steps wait for data."""
    empty = [
        m
        for m in objects.of("MetricDataResults")
        if "BurstCredit" in str(m.get("Label")) and m.items("Values") and max(map(float, m.items("Values"))) <= 0
    ]
    waits = Events(tuple(e for e in events.of("train.step_times") if float(e["data"]) > 0.4 * float(e["step"])))
    crawls = Events(tuple(e for e in events.of("storage.measured") if _mb_per_second(e) < LEAST_MB_PER_SECOND))
    late = Events(
        tuple(
            e
            for e in events.of("train.slow_step")
            if re.search("(?i)checkpoint|sav", e.get("what")) and _seconds(e) >= 60
        )
    )
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


def _mb_per_second(event: Event) -> float:
    rate, unit = (event["rate"], event.get("unit")) if "rate" in event.captures else (event["dd"], event.get("dd_unit"))
    return float(rate) * _UNITS[unit[:1]]


def _seconds(event: Event) -> float:
    return float(event["took"]) * {"m": 60, "h": 3600}.get(event.get("unit")[:1], 1)
