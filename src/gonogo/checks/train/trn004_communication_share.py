"""How much of a training step is spent waiting for gradients.

## Why it matters
What communication does not hide behind compute, the GPUs wait for: at a share of two thirds, two of three are idle.

## Usual causes
- a slow link or fabric
- a model that is small for its number of ranks
- gradients exchanged in many small pieces

## Fix
Mend what the link checks name; then larger batches, gradient accumulation, or fewer and larger buckets.

## Source
https://pytorch.org/docs/stable/notes/ddp.html#internal-design
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from gonogo.facts.train import TrainRank, TrainRun
from gonogo.kernel import check
from gonogo.model import CLUSTER, Figure, Finding, Status


@check("TRN004")
def communication_share(train: TrainRun) -> Iterator[Finding | Figure]:
    """Figures of the medians of all ranks; the probe's model is not the user's, so no share of it is wrong."""
    shares = {s: found for s, entry in train.present.items() if (found := _seconds(entry))}
    if not shares:
        yield Finding(Status.UNKNOWN, CLUSTER, "No rank told where the time of a step went (waits for TRN001).")
        return
    compute = statistics.median(c for c, _ in shares.values())
    exposed = statistics.median(e for _, e in shares.values())
    at: dict[str, str | int | float | bool | None] = {"ranks": len(shares)}
    yield Figure("train_compute", compute, "seconds", at=at)
    yield Figure("train_exposed_communication", exposed, "seconds", at=at)
    total = compute + exposed
    share = exposed / total if total > 0 else 0.0
    yield Figure("train_exposed_share", share, "ratio", at=at)
    summary = next((e.summary for e in train.present.values() if e.summary), None)
    yield Finding(
        Status.SKIP,
        CLUSTER,
        f"Of {total * 1e3:.1f} ms a step, {exposed * 1e3:.1f} ms are exposed communication ({share:.0%}): "
        "a figure of gonogo's own small model, with no floor to hold it against.",
        measured=round(share, 4),
        unit="ratio",
        evidence=(summary.record.evidence("medians of a step"),) if summary else (),
    )


def _seconds(entry: TrainRank) -> tuple[float, float] | None:
    """Compute and exposed communication of a step: the agent's medians, or those of its steps where it told none."""
    told = entry.summary
    if told and told.compute_seconds is not None and told.exposed_seconds is not None:
        return told.compute_seconds, told.exposed_seconds
    steps = [s for s in entry.steps if s.forward_seconds and s.backward_seconds and s.sync_seconds is not None]
    if not steps:
        return None
    compute = statistics.median((s.forward_seconds or 0.0) + (s.backward_seconds or 0.0) for s in steps)
    return compute, statistics.median(s.sync_seconds or 0.0 for s in steps)
