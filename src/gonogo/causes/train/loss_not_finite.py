"""The loss becomes NaN or infinite on a rank.

## What is wrong
From that step on the rank trains nothing, and with the next exchange of gradients no rank does. gonogo's own model and
data keep their loss finite on sound hardware and software, so here it is not the model.

## Fix
Look at the results of collectives first (COL003). Then run the same on the node that is named alone: memory or a GPU
that computes wrong results, or a library with a faulty kernel, shows there again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from gonogo.causes.commands import on
from gonogo.causes.consequences import bad
from gonogo.facts.ranks import home, said
from gonogo.facts.train import TrainRun, TrainStep
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Repair, Subject


@cause("train.loss_not_finite")
def loss_not_finite(findings: Findings, train: TrainRun) -> Iterator[Diagnosis]:
    """One diagnosis for the ranks on whose own batch it came first: the others get it from the average."""
    first: dict[Subject, TrainStep] = {}
    for subject, entry in train.present.items():
        if step := next((s for s in entry.steps if not math.isfinite(s.own_loss)), None):
            first[subject] = step
    if not first:
        return
    index = min(step.index for step in first.values())
    culprits = {subject: step for subject, step in first.items() if step.index == index}
    names = ", ".join(said(subject) for subject in culprits)
    hosts = tuple(dict.fromkeys(home(subject) for subject in culprits))
    yield Diagnosis(
        cause="train.loss_not_finite",
        certainty=Certainty.ESTABLISHED,
        summary=f"The loss is not finite from step {index} on, first on {names}.",
        subjects=hosts,
        evidence=tuple(
            s.record.evidence(f"{said(x)}: loss of step {s.index} is {s.own_loss}") for x, s in culprits.items()
        ),
        explains=bad(findings, "TRN002", "TRN003", "TRN005"),
        repair=Repair.INSPECT,
        commands=tuple(on(s.name, "gonogo verify --nodes 1 --only train") for s in hosts),
        next_observation=f"Whether it comes again on {names} alone.",
    )
