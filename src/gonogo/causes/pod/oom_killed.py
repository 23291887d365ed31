"""The kernel killed a rank for want of memory.

## What is wrong
Its control group (the pod's memory limit) was used up, and the kernel killed the largest process in it: the rank.
The others report closed connections or timeouts.

## Fix
Raise the pod's memory limit, or need less: fewer loader workers, smaller batches, less in /dev/shm, which counts too.

## Source
https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import on
from gonogo.causes.consequences import bad, stopped, unheard
from gonogo.facts.collectives import Collectives
from gonogo.facts.endings import Ending, endings, failures
from gonogo.facts.nodes import NodeInfo, Nodes
from gonogo.facts.ports import Ports
from gonogo.facts.train import TrainRun
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Evidence, FindingKey, Repair, node


@cause("pod.oom_killed", refines=("job.rank_died",))
def oom_killed(
    findings: Findings,
    nodes: Nodes | None,
    collectives: Collectives | None,
    train: TrainRun | None,
    ports: Ports | None,
) -> Iterator[Diagnosis]:
    """One diagnosis a node: its rank was killed, and its group counted a kill for memory meanwhile."""
    for name, told in endings(collectives, train).items():
        killed = next((e for e in told if e.signal == 9 and e.oom_kills), None)
        if killed is None:
            continue
        info = nodes.present.get(node(name)) if nodes else None
        others = failures(collectives, train, but=name)
        explained = (*unheard(findings, ports, {name}), *stopped(findings, {name}))
        also = bad(findings, "LIM006", about={node(name)})
        yield _diagnosis(name, killed, info, others, tuple(dict.fromkeys((*explained, *also))))


def _diagnosis(
    name: str, killed: Ending, info: NodeInfo | None, others: list[Evidence], explained: tuple[FindingKey, ...]
) -> Diagnosis:
    limit = info.memory_limit_bytes if info else None
    told = [info.record.evidence(f"{name}: its group may use {limit} bytes")] if info and limit else []
    of_what = f" of {limit / 2**20:.0f} MiB" if limit else ""
    return Diagnosis(
        cause="pod.oom_killed",
        certainty=Certainty.ESTABLISHED,
        summary=f"The kernel killed {killed.who} on {name} for memory in {killed.at}: {killed.oom_kills} killed in its "
        f"control group{of_what} meanwhile, by {killed.spelled}.",
        subjects=(node(name),),
        evidence=(*killed.evidence, *told, *others[:2]),
        explains=explained,
        repair=Repair.CHANGE_JOB,
        commands=(
            on(name, "dmesg -T | grep -iE 'killed process|out of memory'"),
            on(name, "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory.stat"),
        ),
        next_observation="What it needs: memory.peak of its control group under a larger limit.",
    )
