"""Ranks end with different parameters.

## What is wrong
Data-parallel ranks start alike and apply the same averaged gradients, so they end alike bit for bit. One that differs
got other gradients or computed otherwise, and nothing raises an error.

## Fix
Compare the software of the nodes (SFT001) and the exactness of collectives (COL003). Take the node that differs out,
and test its memory and GPU.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gonogo.causes.commands import on
from gonogo.causes.consequences import bad
from gonogo.facts.ranks import home, said
from gonogo.facts.train import TrainRun
from gonogo.kernel import Findings, cause
from gonogo.model import CLUSTER, Certainty, Diagnosis, Repair


@cause("train.ranks_diverge")
def ranks_diverge(findings: Findings, train: TrainRun) -> Iterator[Diagnosis]:
    """At most one diagnosis; it names the minority, or nobody where there is none."""
    told = {subject: entry.parameters for subject, entry in train.present.items() if entry.parameters}
    (usual, many), *others = Counter(p.sha256 for p in told.values()).most_common() or [("", 0)]
    if not others:
        return
    clear = many > others[0][1]
    odd = tuple(s for s, p in told.items() if p.sha256 != usual) if clear else ()
    who = (
        f"{', '.join(said(s) for s in odd)} against {many} others" if odd else f"{len(others) + 1} groups of equal size"
    )
    hosts = tuple(dict.fromkeys(home(s) for s in odd))
    yield Diagnosis(
        cause="train.ranks_diverge",
        certainty=Certainty.ESTABLISHED if odd else Certainty.SUPPORTED,
        summary=f"The parameters of {len(told)} ranks are not the same after training: {who}.",
        subjects=hosts or (CLUSTER,),
        evidence=tuple(p.record.evidence(f"parameters of {said(s)}: {p.sha256[:12]}") for s, p in told.items()),
        explains=bad(findings, "TRN003", "TRN005"),
        repair=Repair.INSPECT,
        commands=tuple(on(s.name, "gonogo verify --nodes 1 --only collective,train") for s in hosts)
        or ("gonogo verify --only collective,train --level deep",),
        next_observation="Whether the same nodes differ again when the training is repeated.",
    )
