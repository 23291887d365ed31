"""A rank stands still; the others wait for it.

## What is wrong
The node's kernel still accepts connections for the process, and the process never speaks: it is stopped, frozen, or
stuck in a call that doesn't return. All other ranks wait in their collective until the timeout.

## Fix
Look at the process that is named before killing it: its state (T is stopped, D waits for a device or a file server)
and where it hangs.
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import on
from gonogo.causes.consequences import stopped, unheard
from gonogo.facts.collectives import Collectives
from gonogo.facts.endings import Stall, failures, stalls
from gonogo.facts.ports import Ports
from gonogo.facts.train import TrainRun
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Repair, node


@cause("job.rank_stalled")
def rank_stalled(
    findings: Findings, ports: Ports | None, collectives: Collectives | None, train: TrainRun | None
) -> Iterator[Diagnosis]:
    """One diagnosis for each node that is known to stand still, at whatever step."""
    found = {name: s for name, s in stalls(collectives, train).items() if s.is_sure}
    for name, stall in (mute_at_start(ports) if ports else {}).items():
        found.setdefault(name, stall)
    for name, stall in found.items():
        others = failures(collectives, train, but=name)
        yield Diagnosis(
            cause="job.rank_stalled",
            certainty=Certainty.ESTABLISHED if _is_mute(stall) else Certainty.SUPPORTED,
            summary=f"{name} stands still{f' in {stall.at}' if stall.at else ''}: {stall.text}.",
            subjects=(node(name),),
            evidence=(*stall.evidence, *others[:2]),
            explains=tuple(dict.fromkeys((*unheard(findings, ports, {name}), *stopped(findings, {name})))),
            repair=Repair.RESTART_PROCESS,
            commands=(
                on(name, "ps -eo pid,stat,wchan:32,args | grep -E '^ *[0-9]+ [TD]'"),
                on(f"{name}, if its state is T", "kill -CONT <pid>"),
            ),
            next_observation=f"The process's state on {name}: T is stopped, D waits for a device or a file server.",
        )


def mute_at_start(ports: Ports) -> dict[str, Stall]:
    """Nodes whose kernel accepts the connections of peers, all of which hear nothing, before anything was started."""
    found: dict[str, Stall] = {}
    for name in ports.names:
        towards = [p for n in ports.present.values() for p in n.probes if p.target == name]
        mute = [p for p in towards if p.outcome == "mute"]
        if mute and len(mute) == len(towards):
            text = f"its kernel accepts {len(mute)} of {len(towards)} connections, and nobody there speaks"
            found[name] = Stall(text, True, tuple(p.evidence for p in mute[:3]))
    return found


def _is_mute(stall: Stall) -> bool:
    return "nobody there speaks" in stall.text
