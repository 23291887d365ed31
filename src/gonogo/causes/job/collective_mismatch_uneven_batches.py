"""Ranks have different numbers of batches.

## What is wrong
One rank's data ended before the steps did. It went on to what comes after the loop, while the others wait for it in
the next gradient's all-reduce: they hang until their timeout, or report that it closed its connections.

## Fix
Give all ranks equally many batches: drop_last, padding or a DistributedSampler. Where they must differ, DDP's Join
context stands in for the rank that is through. If the data are the same for all, compare the node's software.

## Source
https://pytorch.org/tutorials/advanced/generic_join.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import and_others, on
from gonogo.causes.consequences import bad, stopped
from gonogo.facts.calls import ended_early
from gonogo.facts.endings import ranks_in
from gonogo.facts.ranks import node_of
from gonogo.facts.train import TrainRun
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Repair, node


@cause("job.collective_mismatch_uneven_batches", refines=("job.collective_mismatch", "job.rank_died"))
def uneven_batches(findings: Findings, train: TrainRun | None) -> Iterator[Diagnosis]:
    """At most one diagnosis: all ranks whose data ended while others went on."""
    early = ended_early(train) if train else {}
    if not early or not train:
        return
    others = [name for name in ranks_in(train) if name not in early]
    told = next(iter(early.values()))
    hosts = tuple(dict.fromkeys(node_of(name) for name in early))
    yield Diagnosis(
        cause="job.collective_mismatch_uneven_batches",
        certainty=Certainty.ESTABLISHED,
        summary=f"The data of {and_others(early)} ended too early: {told.reason}, while {and_others(others)} went on.",
        subjects=tuple(node(name) for name in hosts),
        evidence=(
            *(failure.evidence for failure in early.values()),
            *(r.failure.evidence for name, r in ranks_in(train).items() if name in others[:2] and r.failure),
        ),
        explains=tuple(dict.fromkeys((*bad(findings, "JOB003"), *stopped(findings, hosts)))),
        repair=Repair.CHANGE_CODE,
        commands=tuple(
            on(node_of(name), "python -c 'import torch; print(torch.__version__, torch.__file__)'")
            for name in (*list(early)[:1], *others[:1])
        ),
        next_observation="How many batches each rank has: print len(loader) on all of them before the first step.",
    )
