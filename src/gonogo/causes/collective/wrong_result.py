"""A collective returns wrong numbers, without any error.

## What is wrong
The numbers that went in are known, and what came out is not their exact result, on all ranks alike. Memory, a
processor or GPU that computes wrong, or ranks that reduce different types with the same number of bytes, do that.
TCP's checksums make the network unlikely. Training goes on and learns less, or something else.

## Fix
Run each node alone, then pairs, to find whose data are wrong; test its memory and GPUs (`dcgmi diag -r 3`); take it
out.

## Source
https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST_NODES, and_others, on
from gonogo.causes.consequences import bad
from gonogo.facts.collectives import CollectiveRank, Collectives, Operation
from gonogo.facts.fields import items
from gonogo.facts.ranks import node_of, spell_bytes
from gonogo.facts.reproduction import Reproduction
from gonogo.facts.train import TrainRun
from gonogo.kernel import Findings, cause
from gonogo.model import CLUSTER, Certainty, Diagnosis, Repair, node

MANY = 0.1
"""Of all elements: one flipped bit, however often it comes, spoils fewer."""
LARGEST_ELEMENT_BYTES = 8


@cause("collective.wrong_result")
def wrong_result(
    findings: Findings, collectives: Collectives, reproduction: Reproduction | None, train: TrainRun | None
) -> Iterator[Diagnosis]:
    """At most one diagnosis; it names whose data were wrong where the operation tells, or who alone found it so, or who
    alone ended training with other parameters."""
    wrong = [o for entry in collectives.present.values() for o in entry.operations if o.wrong]
    if not wrong:
        yield from _in_training(findings, reproduction)
        return
    ops = {o.op: o for o in sorted(wrong, key=lambda o: o.wrong or 0)}
    worst = max(wrong, key=lambda o: o.wrong or 0)
    told = _whose(collectives, wrong)
    names = told or _apart(train)
    found_by = tuple(dict.fromkeys(o.rank for o in wrong))
    hosts = tuple(dict.fromkeys(node_of(name) for name in names))
    whose = "; the sum does not tell whose data are wrong"
    if names:
        whose = f"; the wrong data come from {and_others(names)}" if told else f"{whose}, but {names[0]} alone ends "
        whose += "" if told else "training with other parameters than the rest"
    yield Diagnosis(
        cause="collective.wrong_result",
        certainty=Certainty.ESTABLISHED if told else Certainty.SUPPORTED,
        summary=f"Wrong numbers without an error: up to {worst.wrong} wrong elements in {', '.join(ops)} "
        f"({spell_bytes(worst.size_bytes)}) on {len(found_by)} of {len(collectives.present)} ranks{whose}.",
        subjects=tuple(node(name) for name in hosts) or (CLUSTER,),
        evidence=tuple(
            o.record.evidence(f"{o.rank}: {o.wrong} wrong elements in {o.op} of {spell_bytes(o.size_bytes)} {o.dtype}")
            for o in (*ops.values(), *wrong)[:4]
        ),
        explains=bad(findings, "COL003", "TRN002", "TRN003", "TRN005"),
        repair=Repair.REPLACE_NODE if told else Repair.INSPECT,
        commands=tuple(on(n, "gonogo verify --nodes 1 --only collective; dcgmi diag -r 3") for n in hosts[:MOST_NODES])
        or ("gonogo verify --nodes 1 --only collective  # on each node alone, then on pairs",),
        next_observation="Whether the result is wrong without one node: leave out one after the other.",
    )


def _in_training(findings: Findings, reproduction: Reproduction | None) -> Iterator[Diagnosis]:
    """Where all ranks end with the same finite numbers, and they aren't those of one process."""
    if not reproduction or not findings.failed("TRN005") or findings.failed("TRN002") or findings.failed("TRN003"):
        return
    record = reproduction.record
    yield Diagnosis(
        cause="collective.wrong_result",
        certainty=Certainty.SUPPORTED,
        summary="Wrong numbers without an error: the averaged gradients of training lead to other losses than one "
        f"process finds ({findings.failed('TRN005')[0].message.rstrip('.')}), and all ranks agree on them.",
        subjects=(CLUSTER,),
        evidence=(record.evidence(f"losses {record.get('losses')} against {record.get('reproduced')}"),),
        explains=bad(findings, "TRN005"),
        repair=Repair.INSPECT,
        commands=("gonogo verify --nodes 1 --only collective,train  # on each node alone, then on pairs",),
        next_observation="Whether it stays without one node: leave out one after the other.",
    )


def _apart(train: TrainRun | None) -> tuple[str, ...]:
    """The one rank, if it is one of three or more, whose parameters differ from those that all others have."""
    ended = [e for e in train.present.values() if e.parameters] if train else []
    told = {e.rank.name: e.parameters.sha256 for e in ended if e.parameters}
    odd = [name for name, mine in told.items() if [*told.values()].count(mine) == 1]
    return tuple(odd) if len(odd) == 1 and len(set(told.values())) == 2 and len(told) > 2 else ()


def _whose(collectives: Collectives, wrong: list[Operation]) -> tuple[str, ...]:
    """By rank where the operation tells its sources; else the one that found wrong what others found right."""
    members = collectives.group.ranks if collectives.group else ()
    ranks = {r for o in wrong for r in items(o.record, "wrong_from") if isinstance(r, int) and r < len(members)}
    if ranks:
        return tuple(members[r] for r in sorted(ranks))
    sums = [o for o in wrong if o.op in ("all_reduce", "reduce_scatter")]
    few = all((o.wrong or 0) <= MANY * o.size_bytes / LARGEST_ELEMENT_BYTES for o in sums)  # else it is no flipped bit
    suspects = set.intersection(*(set(items(o.record, "suspects")) for o in sums)) if sums and few else set()
    if len(suspects) == 1 and max(suspects) < len(members):
        return (members[max(suspects)],)
    found_by = {o.rank for o in wrong}
    entries: list[CollectiveRank] = list(collectives.present.values())
    return tuple(found_by) if len(found_by) == 1 and len(entries) > 1 else ()
