"""One process that takes the same steps finds the same losses.

## Why it matters
Ranks that agree with each other may all be wrong: the same steps on the same data without any network must give the
same losses, but for the order in which numbers are added.

## Usual causes
- gradients that are summed instead of averaged, or exchanged wrongly
- ranks that see the same data, or miss some
- memory or a GPU that computes wrong results

## Fix
Look at COL003 first; then compare each rank's first step with that of one process alone.

## Source
https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.fields import measurement, number, whole
from gonogo.facts.reproduction import Reproduction
from gonogo.kernel import check
from gonogo.model import CLUSTER, Finding, Status


@check("TRN005")
def one_process_agrees(reproduction: Reproduction) -> Iterator[Finding]:
    """One finding: the greatest relative difference of a loss, against the agent's stated tolerance."""
    record = reproduction.record
    differs, tolerance = measurement(record, "max_difference"), number(record, "tolerance")
    if differs is None or tolerance is None:
        yield Finding(Status.UNKNOWN, CLUSTER, "The reproduction by one process told no difference.")
        return
    yield Finding(
        Status.OK if differs <= tolerance else Status.FAIL,  # a NaN is not within any tolerance
        CLUSTER,
        f"One process alone finds the losses of {whole(record, 'steps')} steps within {differs:.2g} of those of "
        f"{reproduction.ranks} ranks, {tolerance:.2g} allowed.",
        measured=differs,
        expected=tolerance,
        unit="ratio",
        threshold_source="the order of float32 additions",
        evidence=(record.evidence(f"losses {record.get('losses')} against {record.get('reproduced')}"),),
    )
