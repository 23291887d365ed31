"""/dev/shm is too small for what the ranks put into it.

## What is wrong
Data loader workers and NCCL pass their buffers through /dev/shm. When it is full, a worker dies of a bus error or of
"no space left on device", its rank fails or waits for data that never come, and the other ranks time out.

## Fix
Give the container more: an `emptyDir` with `medium: Memory` mounted on /dev/shm, or `--shm-size`. Until then fewer
workers, smaller batches, or a shorter prefetch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.commands import MOST, MOST_NODES, on
from gonogo.causes.consequences import bad, stopped
from gonogo.facts.collectives import Collectives
from gonogo.facts.endings import ranks_in, runs_of
from gonogo.facts.identities import Identities
from gonogo.facts.nodes import NodeInfo, Nodes
from gonogo.facts.ranks import Rank
from gonogo.facts.train import TrainRun
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Evidence, Repair, node

SAYS = re.compile(r"(allocate|insufficient) shared memory|bus error|/dev/shm", re.IGNORECASE)


@cause("pod.shm_too_small")
def shm_too_small(
    findings: Findings, nodes: Nodes, collectives: Collectives | None, train: TrainRun | None,
    identities: Identities | None,
) -> Iterator[Diagnosis]:  # fmt: skip
    """One diagnosis for all nodes whose ranks said so."""
    said: dict[str, Evidence] = {}
    for _, run in runs_of(collectives, train):
        for rank in ranks_in(run).values():
            if line := _line(rank):
                said.setdefault(rank.node, line)
    if not said:
        return
    infos = {name: nodes.present[node(name)] for name in said if node(name) in nodes.present}
    sizes = ", ".join(f"{i.shm_bytes / 2**20:.0f} MiB on {n}" for n, i in infos.items() if i.shm_bytes is not None)
    yield Diagnosis(
        cause="pod.shm_too_small",
        certainty=Certainty.ESTABLISHED if sizes else Certainty.SUPPORTED,
        summary=f"/dev/shm is full on {len(said)} of {len(nodes)} nodes: ranks could not get shared memory"
        f"{f' ({sizes})' if sizes else ''}.",
        subjects=tuple(node(name) for name in said),
        evidence=(*list(said.values())[:MOST], *(_size(i) for i in list(infos.values())[:MOST])),
        explains=tuple(dict.fromkeys((*bad(findings, "NOD003"), *stopped(findings)))),
        repair=Repair.CHANGE_JOB,
        commands=_commands(list(said), identities),
        next_observation="How full it gets: `watch df -h /dev/shm` while data loaders start.",
    )


def _commands(names: list[str], identities: Identities | None) -> tuple[str, ...]:
    """A pod's is a volume of its own, which its template gives it."""
    if identities and identities.in_pods:
        return ("df -h /dev/shm  # in a pod; then an emptyDir with medium: Memory, mounted at /dev/shm",)
    return tuple(on(name, "df -h /dev/shm; mount -o remount,size=8g /dev/shm") for name in names[:MOST_NODES])


def _line(rank: Rank) -> Evidence | None:
    """The first line in which the framework or its workers speak of shared memory."""
    told = [(rank.failure.text, rank.failure.record)] if rank.failure else []
    told += [(rank.exit.output, rank.exit.record)] if rank.exit else []
    for text, record in told:
        for line in text.splitlines():
            if SAYS.search(line):
                return record.evidence(f"{rank.name}: {line.strip()[:300]}")
    return None


def _size(info: NodeInfo) -> Evidence:
    return info.record.evidence(
        f"{info.name}: {info.shm_free_bytes} of {info.shm_bytes} bytes of /dev/shm free at first"
    )
