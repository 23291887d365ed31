"""A large all_reduce is as fast as the plan expects.

## Why it matters
Data-parallel training sends its gradients through an all_reduce in each step: its bus bandwidth bounds the speed of
training on many nodes.

## Usual causes
- a slow link or node (LNK002)
- a fabric that carries only a part of what the instance type has, or TCP where EFA was meant
- processors too busy to move the bytes

## Fix
Compare with the links' own throughput: where those are well, look at what carried the collective.

## Source
https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gonogo.facts.collectives import AllReduceCurve
from gonogo.facts.fit import busbw, busbw_bound, fit
from gonogo.facts.ranks import spell_bytes
from gonogo.facts.speeds import LinkRates
from gonogo.kernel import check
from gonogo.model import CLUSTER, Figure, Finding, Status, Value
from gonogo.plan import Plan


@check("COL004")
def all_reduce_speed(curve: AllReduceCurve, plan: Plan, rates: LinkRates | None) -> Iterator[Finding | Figure]:
    """Figures of all sizes, and the largest one against the plan; without one there is no floor, and it is a skip."""
    at: Mapping[str, Value] = {"op": "all_reduce", "ranks": curve.ranks}
    for size, seconds in curve.seconds.items():
        value = busbw("all_reduce", size, seconds, curve.ranks)
        yield Figure("busbw", value, "GB/s", at={**at, "bytes": size, "seconds": seconds})
    line = fit(curve.seconds.items())
    if line:
        yield Figure("all_reduce_alpha", line.alpha_seconds, "seconds", at=at)
        if line.beta_bytes_per_second < float("inf"):
            yield Figure("all_reduce_beta", line.beta_bytes_per_second / 1e9, "GB/s", at=at)
    largest = max(curve.seconds)
    measured = busbw("all_reduce", largest, curve.seconds[largest], curve.ranks)
    floor = plan.expect.all_reduce_busbw
    message = (
        f"all_reduce of {spell_bytes(largest)} over {curve.ranks} ranks reaches {measured:.3g} GB/s of bus bandwidth"
    )
    bound = _bound(curve, rates)
    limit = f"; the links allow {bound:.3g} GB/s at most" if bound else ""
    against = f"{floor:.3g} GB/s expected by the plan" if floor else "with no floor to hold it against"
    status = Status.SKIP if floor is None else Status.OK if measured >= floor else Status.FAIL
    evidence = tuple(o.record.evidence(f"{o.seconds * 1e3:.2f} ms on {o.rank}") for o in curve.operations[-1:])
    source = "plan" if floor else ""
    yield Finding(status, CLUSTER, f"{message}, {against}{limit}.", round(measured, 4), floor, "GB/s", source, evidence)


def _bound(curve: AllReduceCurve, rates: LinkRates | None) -> float | None:
    """What physics allows at the fastest link that was measured."""
    known = rates is not None and rates.fastest_gbps > 0 and curve.nodes > 1
    return busbw_bound(rates.fastest_gbps, curve.nodes, curve.ranks) if rates and known else None
