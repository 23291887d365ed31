"""The result of every collective is exact in every element.

## Why it matters
A wrong sum raises no error: all ranks agree on it, the loss drifts, and weeks later nobody knows why.

## Usual causes
- memory or a GPU that computes wrong results
- ranks that reduce tensors of different types with the same number of bytes
- a faulty adapter whose checksums are switched off

## Fix
Take the node out that is named; run the hardware's own tests there (`dcgmi diag -r 3`, a memory test).

## Source
https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.collectives import Collectives
from gonogo.facts.ranks import spell_bytes
from gonogo.kernel import check
from gonogo.model import CLUSTER, Finding, Status


@check("COL003")
def results_exact(collectives: Collectives) -> Iterator[Finding]:
    """One finding a rank, over all that it completed: known whole numbers are summed, so no tolerance is needed."""
    if not collectives.present:
        yield Finding(Status.UNKNOWN, CLUSTER, "No node ran it (waits for COL001).")
    for subject, entry in collectives.present.items():
        checked = [o for o in entry.operations if o.wrong is not None]
        wrong = [o for o in checked if o.wrong]
        message = f"{entry.rank.name} found {len(checked) - len(wrong)} of {len(entry.operations)} results exact"
        worst = max(wrong, key=lambda o: o.wrong or 0, default=None)
        details = f": {worst.op} of {spell_bytes(worst.size_bytes)} has {worst.wrong} wrong elements" if worst else ""
        shown = wrong or checked[:1]
        yield Finding(
            Status.FAIL if wrong else Status.OK if checked and checked == list(entry.operations) else Status.UNKNOWN,
            subject,
            f"{message}{details}.",
            measured=len(checked) - len(wrong),
            expected=len(entry.operations),
            unit="results",
            threshold_source="exact arithmetic",
            evidence=tuple(o.record.evidence(f"{o.op} of {o.size_bytes} bytes: {o.wrong} wrong") for o in shown),
        )
