"""The loss is NaN or Inf.

## What is wrong
Training diverged: learning rate, fp16 overflow, bad data, or (rarely) a GPU that computes wrong.

## Fix
Anomaly detection, gradient clipping, bf16; the batch before the first NaN.

## Source
https://pytorch.org/docs/stable/autograd.html#anomaly-detection
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("train.loss_not_finite", also=True)
def loss_not_finite_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a loss that is printed as no number."""
    seen = events.of("train.loss_not_finite")
    if seen:
        first = seen.first.who
        by = "" if first.rank is None else str(first)
        yield diagnosis(
            "train.loss_not_finite",
            _summary(seen.first, f" of {by}" if by else ""),
            seen,
            repair=Repair.CHANGE_CODE,
            next_observation="torch.autograd.set_detect_anomaly(True) names the operation that made it; a lower "
            "learning rate, "
            "or the batch of that step skipped, tells optimiser from data.",
        )


def _summary(first: Event, by: str) -> str:
    words = first.get("words").lower()
    if "loss scale already" in words:
        return f"The gradients{by} overflow at every step, with the loss scale at its minimum."
    if "grad norm" in words or "gradient norm" in words:
        return f"The norm of the gradient{by} is no number."
    return f"The loss{by} is {first.get('value') or 'no number'}."
