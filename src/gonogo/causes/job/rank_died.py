"""A rank was killed; the others only waited for it.

## What is wrong
A signal ended one process. The other ranks report closed connections or timeouts, and name whoever told them, which
is often an innocent neighbour: the one that died first is the one to look at.

## Fix
Find out who sent the signal. 9: the out-of-memory killer (`dmesg`), an eviction, or a person. 7 or 11: a full
/dev/shm, a driver or library that crashed.
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import on
from gonogo.causes.consequences import stopped, unheard
from gonogo.facts.collectives import Collectives
from gonogo.facts.endings import Ending, endings, failures
from gonogo.facts.ports import Ports
from gonogo.facts.train import TrainRun
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Evidence, FindingKey, Repair, node

ABORT = 6
"""What a framework does to itself when its peers are gone: not a first mover while somebody died before."""

_WHY = {
    9: "nothing but a kill from outside sends it: the out-of-memory killer, an eviction, a person",
    7: "a bus error: as a rule a full /dev/shm",
    11: "a crash in native code",
    6: "the process aborted itself",
    15: "somebody asked it to end",
}


@cause("job.rank_died")
def rank_died(
    findings: Findings, collectives: Collectives | None, train: TrainRun | None, ports: Ports | None
) -> Iterator[Diagnosis]:
    """One diagnosis for each node with a killed process, the first one first."""
    killed = [(e, name) for name, told in endings(collectives, train).items() for e in told if e.signal]
    killed.sort(key=lambda pair: (pair[0].at_seconds, pair[1]))
    named: set[str] = set()
    for ending, name in killed:
        if name in named or (named and ending.signal == ABORT):
            continue
        named.add(name)
        explained = (*unheard(findings, ports, {name}), *stopped(findings, {name}))
        others = failures(collectives, train, but=name)
        yield _diagnosis(ending, name, tuple(dict.fromkeys(explained)), others)


def _diagnosis(ending: Ending, name: str, explained: tuple[FindingKey, ...], others: list[Evidence]) -> Diagnosis:
    why = _WHY.get(ending.signal or 0, "")
    if ending.oom_kills:
        why = f"the kernel killed {ending.oom_kills} of its cgroup for memory meanwhile"
    after = f"; {len(others)} other ranks failed after it" if others else ""
    return Diagnosis(
        cause="job.rank_died",
        certainty=Certainty.ESTABLISHED,
        summary=f"{ending.who.capitalize()} on {name} was killed by {ending.spelled} in {ending.at}{after}."
        f"{f' About this signal: {why}.' if why else ''}",
        subjects=(node(name),),
        evidence=(*ending.evidence, *others[:2]),
        explains=explained,
        repair=Repair.RESTART_PROCESS,
        commands=(
            on(name, "dmesg -T | grep -iE 'killed process|out of memory|segfault'"),
            on(name, "free -m; df -h /dev/shm"),
        ),
        next_observation=f"Who sent the signal: the kernel's log on {name}, and its pod's last state and events.",
    )
