"""The loss is finite in every step, and falls.

## Why it matters
It is the only sign that data, gradients and their exchange do together what training needs. The model and the data
are made so that it must fall clearly within a few steps.

## Usual causes
- gradients that are not exchanged, or exchanged wrongly
- a GPU or memory that computes wrong results
- a library with a faulty kernel for this machine

## Fix
Look at COL003 (exact results) first; then run the same steps on one node alone, and compare.

## Source
https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator

from gonogo.facts.train import TrainRun, TrainStep
from gonogo.kernel import check
from gonogo.model import CLUSTER, Finding, Status


@check("TRN002")
def loss_falls(train: TrainRun) -> Iterator[Finding]:
    """One finding a rank: the mean of the first fifth of its steps against that of the last fifth."""
    if not train.present:
        yield Finding(Status.UNKNOWN, CLUSTER, "No node ran it (waits for TRN001).")
    for subject, entry in train.present.items():
        name = entry.rank.name
        bad = next((s for s in entry.steps if not math.isfinite(s.loss)), None)
        if bad:
            message = f"{name}'s loss is {bad.loss} in step {bad.index}."
            evidence = (bad.record.evidence(f"loss of step {bad.index}: {bad.loss}"),)
            yield Finding(Status.FAIL, subject, message, str(bad.loss), evidence=evidence)
        elif len(entry.steps) < 2:
            message = f"{name} did not train enough steps to see its loss fall (waits for TRN001)."
            yield Finding(Status.UNKNOWN, subject, message)
        else:
            first, last = _ends(entry.steps)
            yield Finding(
                Status.OK if last < first else Status.FAIL,
                subject,
                f"{name}'s loss goes from {first:.4g} to {last:.4g} in {len(entry.steps)} steps.",
                measured=last,
                expected=first,
                threshold_source="its own first steps: the last must be below",
                evidence=(entry.steps[-1].record.evidence(f"loss of the last step: {entry.steps[-1].loss:.4g}"),),
            )


def _ends(steps: tuple[TrainStep, ...]) -> tuple[float, float]:
    fifth = max(1, len(steps) // 5)
    return statistics.fmean(s.loss for s in steps[:fifth]), statistics.fmean(s.loss for s in steps[-fifth:])
