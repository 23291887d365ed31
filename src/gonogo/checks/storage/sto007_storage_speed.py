"""Every node writes to storage as fast as the plan expects, or as most others do.

## Why it matters
All ranks wait while a checkpoint is saved, and the slowest decides for how long. A write without fsync only measures
memory: this one counts until the bytes are durable.

## Usual causes
- a volume with little throughput (gp3's 125 MiB/s, a small FSx file system, burst credits that are used up)
- a node whose path to the file server is slow
- a limit on the container's I/O

## Fix
Compare with `fio --rw=write --bs=1M --end_fsync=1` in the same folder; raise the volume's throughput.

## Source
https://docs.aws.amazon.com/fsx/latest/LustreGuide/performance.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.storage.paths import Said, judge
from gonogo.facts.fields import number, whole
from gonogo.facts.pace import PathPace, StoragePace
from gonogo.facts.storage import PathProbe, Storage
from gonogo.kernel import check
from gonogo.model import Figure, Finding, Status, node


@check("STO007")
def storage_speed(storage: Storage, pace: StoragePace) -> Iterator[Finding | Figure]:
    """Figures of all nodes; a finding against the plan's floor or three peers, a skip where there is neither."""
    for probe in storage.paths():
        for kind in ("write", "read"):
            if rate := probe.rate(kind):
                at = {"path": probe.path, "bytes": whole(probe.told[kind], "bytes")}
                yield Figure(f"storage_{kind}", rate / 1e9, "GB/s", node(probe.node), at)
        small = probe.told.get("small")
        seconds, files = (number(small, "create_seconds"), whole(small, "files")) if small else (None, None)
        if seconds and files:
            yield Figure("storage_small_files", files / seconds, "files/s", node(probe.node), {"path": probe.path})
    yield from judge(storage, lambda probe: _say(probe, pace.of(probe)))


def _say(probe: PathProbe, pace: PathPace | None) -> Said | None:
    if pace is None:
        return None
    status = Status.SKIP if pace.floor is None else Status.FAIL if pace.is_slow else Status.OK
    against = f"{pace.floor / 1e9:.3g} GB/s at least expected by {pace.source}" if pace.floor else "with no floor"
    said = f"{probe.node} writes {pace.rate / 1e9:.3g} GB/s to {probe.path}, {against}"
    floor = round(pace.floor / 1e9, 4) if pace.floor else None
    return Said(status, said, (pace.evidence,), round(pace.rate / 1e9, 4), floor, "GB/s", pace.source)
