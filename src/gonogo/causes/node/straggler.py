"""One node computes slower than the others, which all wait for it.

## What is wrong
In every step the node that is named reaches its collective last; the others wait, so that every rank shows the same
slow step. A CPU quota, other programs, heat or slow data can be behind it; a quota that is known is named.

## Fix
Take the limit away or give it to all; end what else runs there; or leave the node out.

## Source
https://docs.kernel.org/scheduler/sched-bwc.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gonogo.causes.commands import on
from gonogo.causes.consequences import bad, touches
from gonogo.facts.nodes import Nodes
from gonogo.facts.ranks import home, said
from gonogo.facts.stragglers import Paces, RankPace
from gonogo.kernel import Findings, cause
from gonogo.model import CLUSTER, Certainty, Diagnosis, Evidence, Finding, Repair, Subject


@cause("node.straggler")
def straggler(findings: Findings, nodes: Nodes | None, paces: Paces | None) -> Iterator[Diagnosis]:
    """One diagnosis a node: it may use far fewer CPUs than most, or its rank was late in training, or both."""
    short = {f.subject: f for f in findings.failed("NOD006")}
    late: dict[Subject, dict[str, RankPace]] = {}
    for subject, pace in paces.ranks.items() if paces else ():
        if pace.pace.is_late:
            late.setdefault(home(subject), {})[said(subject)] = pace
    for subject in dict.fromkeys((*short, *late)):
        mine = late.get(subject, {})
        others = sum(home(s) == subject for s in paces.ranks) - len(mine) if paces else 0
        who = subject.name if subject in short or not others else ", ".join(mine)
        yield _diagnosis(subject, who, short.get(subject), mine, findings)


def _diagnosis(
    subject: Subject, who: str, short: Finding | None, late: Mapping[str, RankPace], findings: Findings
) -> Diagnosis:
    """`who` is the node, or those of its ranks that are late where others of it are not."""
    name = subject.name
    told, evidence = [], list[Evidence]()
    if short:
        told.append(short.message.rstrip("."))
        evidence += short.evidence
    for rank, pace in late.items():
        told.append(f"{'in' if rank in (name, who) else f'{rank}: in'} each step {_spell(pace)}")
        evidence.append(pace.step.record.evidence(f"{rank}: step {pace.step.index} until its first collective"))
    links = {f.subject for f in findings if touches(f.subject, {name})}
    slow = bad(findings, "LNK002", "LNK003", "COL004", "TRN004", about={*links, CLUSTER}) if short else ()
    return Diagnosis(
        cause="node.straggler",
        certainty=Certainty.ESTABLISHED if short or any(p.looks > 1 for p in late.values()) else Certainty.SUPPORTED,
        summary=f"{who} {'are' if ', ' in who else 'is'} slower than the others: {'; '.join(told)}.",
        subjects=(subject,),
        evidence=tuple(evidence),
        explains=tuple(dict.fromkeys((*bad(findings, "NOD006", "TRN006", about={subject}), *slow))),
        repair=Repair.CHANGE_JOB if short else Repair.INSPECT,
        commands=(
            on(name, "cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpu.stat"),
            on(name, "uptime; top -b -n 1 | head -15"),
        ),
        next_observation=f"Whether it was held back: nr_throttled in cpu.stat of {name}'s control group.",
    )


def _spell(late: RankPace) -> str:
    pace, data = late.pace, late.data_seconds
    usual = pace.others or 0.0
    part = f", {data * 1e3:.0f} ms of them for its batch" if data > (pace.own - usual) / 2 else ""
    return (
        f"it takes {pace.own * 1e3:.0f} ms until its first collective{part}, the others "
        f"{usual * 1e3:.0f} ms, and they wait {pace.others_wait * 1e3:.0f} ms for it"
    )
