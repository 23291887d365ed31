"""Storage is far slower than the plan expects, or on one node than on the others.

## What is wrong
Writes succeed and take long. All ranks wait for the slowest in each checkpoint; buffered writes hide it until fsync.

## Fix
Measure the same folder with fio. One node: its path to the server, or a limit on its I/O. All nodes: the volume's or
file system's throughput.

## Source
https://docs.aws.amazon.com/ebs/latest/userguide/ebs-io-characteristics.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST, MOST_NODES, and_others, on
from gonogo.causes.consequences import bad
from gonogo.facts.pace import PathPace, StoragePace
from gonogo.facts.storage import Storage
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Evidence, Repair, node


@cause("storage.slow")
def slow(findings: Findings, storage: Storage, pace: StoragePace) -> Iterator[Diagnosis]:
    """One diagnosis a path."""
    for path in storage.named():
        paces = pace.on(path)
        late = {name: found for name, found in paces.items() if found.is_slow and found.floor}
        if not late:
            continue
        names, worst = list(late), min(late.values(), key=lambda p: p.rate)
        yield Diagnosis(
            cause="storage.slow",
            certainty=Certainty.ESTABLISHED,
            summary=f"Writing to {path} is slow on {len(late)} of {len(paces)} nodes ({and_others(names)}): "
            f"{worst.rate / 1e9:.3g} GB/s, at least {(worst.floor or 0) / 1e9:.3g} expected by {worst.source}.",
            subjects=tuple(node(name) for name in names),
            evidence=(*(p.evidence for p in list(late.values())[:MOST]), *_best(paces)),
            explains=bad(findings, "STO007", about={node(name) for name in names}),
            repair=Repair.CHANGE_STORAGE,
            commands=tuple(
                on(n, f"fio --name=w --directory={path} --rw=write --bs=1M --size=256M --end_fsync=1 --unlink=1")
                for n in names[:MOST_NODES]
            ),
            next_observation="Whether the node or the file system is slow: the same fio on another node.",
        )


def _best(paces: dict[str, PathPace]) -> Iterator[Evidence]:
    """The fastest, if it is in order."""
    best = max(paces.values(), key=lambda p: p.rate)
    if not best.is_slow:
        yield best.evidence
