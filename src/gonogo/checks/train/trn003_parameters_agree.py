"""All ranks end with the same parameters, bit for bit.

## Why it matters
Data-parallel ranks that differ train as many different models as there are ranks, and raise no error.

## Usual causes
- gradients that one rank does not exchange
- different software on one node
- memory or a GPU that computes wrong results

## Fix
Compare the software of the nodes (SFT001), then take out the node that differs.

## Source
https://pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gonogo.facts.ranks import home, said
from gonogo.facts.train import TrainRun
from gonogo.kernel import Skip, check
from gonogo.model import CLUSTER, Finding, Status, node


@check("TRN003")
def parameters_agree(train: TrainRun) -> Iterator[Finding]:
    """One finding for all ranks; where most agree, one for each rank that differs.

    Where nodes were left out, ranks that agree prove nothing of the whole.
    """
    total = len(train.group.ranks) if train.group else len(train.present)
    nodes = {home(subject) for subject in train.ranks}
    part = {node(name) for name in train.group.members} if train.group else {home(s) for s in train.present}
    without = nodes - part
    if len(train.ranks) < 2:
        raise Skip("One rank alone agrees with itself.")
    told = {subject: entry.parameters for subject, entry in train.present.items() if entry.parameters}
    counts = Counter(p.sha256 for p in told.values()).most_common()
    if len(told) < 2:
        message = f"{len(told)} of {total} ranks told their parameters (waits for TRN001)."
        yield Finding(Status.UNKNOWN, CLUSTER, message)
        return
    (usual, agree), *others = counts
    evidence = tuple(p.record.evidence(f"parameters of {said(s)}: {p.sha256[:12]}") for s, p in told.items())
    clear = not others or agree > others[0][1]
    complete = len(told) == total
    missing = f"; {len(without)} of {len(nodes)} nodes had no part in it" if without else ""
    yield Finding(
        Status.FAIL if others else Status.OK if complete and not without else Status.UNKNOWN,
        CLUSTER,
        f"{agree} of {total} ranks hold the same parameters ({usual[:12]}){missing}.",
        measured=agree,
        expected=total,
        unit="ranks",
        threshold_source="bit for bit",
        evidence=evidence,
    )
    for subject, parameters in told.items():
        if clear and parameters.sha256 != usual:
            message = (
                f"{said(subject)}'s parameters ({parameters.sha256[:12]}) differ from those of {agree} other ranks."
            )
            shown = (parameters.record.evidence(f"parameters of {said(subject)}: {parameters.sha256}"),)
            yield Finding(Status.FAIL, subject, message, parameters.sha256, usual, evidence=shown)
