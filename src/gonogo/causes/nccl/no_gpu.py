"""NCCL is asked for where ranks see no GPU.

## What is wrong
NCCL moves memory of GPUs. On a machine or in a pod that has none, or shows none to the process, no group forms.

## Fix
On a machine without GPUs say `job: {backend: gloo}` in the plan, which proves the rest. Where there should be GPUs:
`nvidia-smi -L` on the node; then the pod's `nvidia.com/gpu` limit, CUDA_VISIBLE_DEVICES, and whether the image's torch
was built for CUDA.

## Source
https://docs.pytorch.org/docs/stable/distributed.html#backends
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST, MOST_NODES, and_others, on
from gonogo.causes.consequences import stopped
from gonogo.facts.collectives import Collectives
from gonogo.facts.endings import ranks_in, runs_of
from gonogo.facts.ranks import Failure
from gonogo.facts.train import TrainRun
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Repair, node

SAYS = "NCCL needs a CUDA device"
"""How a rank of gonogo's says that torch counts none."""


@cause("nccl.no_gpu")
def no_gpu(findings: Findings, collectives: Collectives | None, train: TrainRun | None) -> Iterator[Diagnosis]:
    """One diagnosis for all nodes whose ranks were to use NCCL and count no GPU."""
    found: dict[str, Failure] = {}
    total = 0
    for _, run in runs_of(collectives, train):
        ranks = ranks_in(run).values()
        total = max(total, len({r.node for r in ranks}))
        found |= {r.node: r.failure for r in ranks if r.failure and SAYS in r.failure.text}
    if not found:
        return
    names = list(found)
    where = (
        f"all {total} nodes" if len(names) == total else f"at least {len(names)} of {total} nodes ({and_others(names)})"
    )
    yield Diagnosis(
        cause="nccl.no_gpu",
        certainty=Certainty.ESTABLISHED,
        summary=f"Ranks are to use NCCL and see no GPU on {where}. Without GPUs, the plan's job.backend is to be gloo.",
        subjects=tuple(node(name) for name in names),
        evidence=tuple(failure.evidence for failure in list(found.values())[:MOST]),
        explains=stopped(findings),
        repair=Repair.CHANGE_JOB,
        commands=tuple(on(name, "nvidia-smi -L") for name in names[:MOST_NODES]),
        next_observation="Whether torch sees any: `python3 -c 'import torch; print(torch.cuda.device_count())'`.",
    )
