"""No node writes as fast as the plan expects.

## What is wrong
All nodes are alike, and all are below the plan's number: the file system as a whole has less throughput than was
planned for, or all nodes share what one of them was promised.

## Fix
Compare writeGbytesPerSecond with what the file system has (FSx for Lustre: MB/s for each TiB, times its size; EBS: the
volume's own), divided by the nodes that write at once.

## Source
https://docs.aws.amazon.com/fsx/latest/LustreGuide/performance.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST
from gonogo.causes.consequences import bad
from gonogo.facts.pace import StoragePace
from gonogo.facts.storage import Storage
from gonogo.kernel import Findings, cause
from gonogo.model import CLUSTER, Certainty, Diagnosis, Repair, node


@cause("storage.below_plan", refines=("storage.slow",))
def below_plan(findings: Findings, storage: Storage, pace: StoragePace) -> Iterator[Diagnosis]:
    """One diagnosis a path that every node writes too slowly; who is slower than the others is named apart."""
    for path in storage.named():
        paces = pace.on(path)
        alike = {name: p for name, p in paces.items() if p.is_below_plan and not p.is_behind}
        if len(paces) < 2 or not all(p.is_below_plan for p in paces.values()) or 2 * len(alike) <= len(paces):
            continue
        rates = [p.rate / 1e9 for p in alike.values()]
        floor = (next(iter(alike.values())).floor or 0.0) / 1e9
        yield Diagnosis(
            cause="storage.below_plan",
            certainty=Certainty.ESTABLISHED,
            summary=f"None of {len(paces)} nodes writes the {floor:.3g} GB/s to {path} that the plan expects: "
            f"{min(rates):.3g} to {max(rates):.3g}, while all write at once. No single node is to blame.",
            subjects=(CLUSTER,),
            evidence=tuple(p.evidence for p in list(alike.values())[:MOST]),
            explains=bad(findings, "STO007", about={node(name) for name in alike}),
            repair=Repair.CHANGE_STORAGE,
            commands=(
                f"fio --name=w --directory={path} --rw=write --bs=1M --size=1G --end_fsync=1 --unlink=1  # on "
                "one node, then all",
            ),
            next_observation="Whether one node alone writes as much: then the file system as a whole is the limit.",
        )
