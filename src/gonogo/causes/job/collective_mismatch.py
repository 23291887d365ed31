"""Ranks called different collectives, shapes or types.

## What is wrong
Every rank must call the same collectives in the same order with the same shapes and types. One that takes another
branch, or has a model or batch of another shape, meets the others in a different call: a timeout on all of them, a
crash in the backend, or an error about sizes; each rank's message names somebody else. Types of equal size raise no
error at all, and give wrong numbers.

## Fix
Make the branch the same on all ranks. TORCH_DISTRIBUTED_DEBUG=DETAIL checks every call before it is made.

## Source
https://pytorch.org/docs/stable/distributed.html#debugging-torch-distributed-applications
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import and_others
from gonogo.causes.consequences import bad, stopped
from gonogo.facts.calls import LastCalls, Parted, sizes_met
from gonogo.facts.collectives import Collectives
from gonogo.facts.ranks import node_of
from gonogo.facts.train import TrainRun
from gonogo.kernel import Findings, cause
from gonogo.model import CLUSTER, Certainty, Diagnosis, Evidence, Repair, node

WRONG = ("COL003", "TRN002", "TRN003", "TRN005")
"""What fails of wrong numbers, where the calls' types differ and their bytes don't."""


@cause("job.collective_mismatch", refines=("job.rank_died", "job.rank_stalled"))
def collective_mismatch(
    findings: Findings, calls: LastCalls, collectives: Collectives | None, train: TrainRun | None
) -> Iterator[Diagnosis]:
    """At most one diagnosis: the calls of one number differ, or the backend met a message of another size."""
    found = next(calls.parted(), None)
    if found:
        evidence, names = tuple(_evidence(found)), found.odd
        yield _diagnosis(_summary(found), evidence, names, tuple(found.calls), findings, Certainty.ESTABLISHED)
        return
    for met in sizes_met(calls, collectives, train):
        says = f"{met.rank} expected {met.expected} bytes and was sent {met.sent} in {met.at}"
        others = f", while {and_others(met.others)} called the same" if met.is_odd else ""
        summary = f"Ranks called different collectives in {met.step}: {says}{others}."
        evidence = (met.evidence, *_last(calls, met.step, met.others))
        names = (met.rank,) if met.is_odd else ()
        yield _diagnosis(summary, evidence, names, (met.rank, *met.others), findings, Certainty.SUPPORTED)
        return


def _last(calls: LastCalls, step: str, names: tuple[str, ...]) -> Iterator[Evidence]:
    for name in names[:2]:
        call = max(calls.steps[step][name].values(), key=lambda c: c.seq)
        yield call.record.evidence(f"{name}: call {call.seq} is {call.said}")


def _diagnosis(
    summary: str,
    evidence: tuple[Evidence, ...],
    odd: tuple[str, ...],
    involved: tuple[str, ...],
    findings: Findings,
    certainty: Certainty,
) -> Diagnosis:
    at_fault = {node_of(name) for name in odd or involved}
    return Diagnosis(
        cause="job.collective_mismatch",
        certainty=certainty,
        summary=summary,
        subjects=tuple(dict.fromkeys(node(node_of(name)) for name in odd)) or (CLUSTER,),
        evidence=evidence,
        explains=tuple(dict.fromkeys((*bad(findings, "JOB003", *WRONG), *stopped(findings, at_fault)))),
        repair=Repair.CHANGE_CODE,
        commands=("export TORCH_DISTRIBUTED_DEBUG=DETAIL  # in all ranks: each call is checked before it is made",),
        next_observation="Which line made the call: TORCH_SHOW_CPP_STACKTRACES=1, or the flight recorder's dump.",
    )


def _summary(found: Parted) -> str:
    kinds: dict[str, list[str]] = {}
    for name, call in found.calls.items():
        kinds.setdefault(call.said, []).append(name)
    told = "; ".join(f"{said} on {and_others(names)}" for said, names in kinds.items())
    return f"Ranks called different collectives in {found.step}, as call number {found.seq}: {told}."


def _evidence(found: Parted) -> Iterator[Evidence]:
    """One of the odd first, then the others."""
    for name in sorted(found.calls, key=lambda n: n not in found.odd)[:4]:
        call = found.calls[name]
        yield call.record.evidence(f"{name}: call {call.seq} is {call.said}")
