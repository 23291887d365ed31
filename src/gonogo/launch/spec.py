"""From plan and level to what agents are told: the same on this machine and in pods."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

from gonogo.agent.spec import FRAMEWORK, STEPS, Spec
from gonogo.model import Level
from gonogo.plan import Plan


@dataclass(frozen=True)
class _Size:
    """How much of each step a level runs."""

    rounds: int  # 0: as many as pair every node with every other
    slice_seconds: float
    sizes: tuple[int, ...]  # of the collectives, in bytes
    train_steps: int
    framework_seconds: float  # timeout of one collective, and of the rendezvous


_KIB, _MIB = 1 << 10, 1 << 20
_SIZES: dict[Level, _Size] = {
    "quick": _Size(2, 0.15, (_KIB, 64 * _KIB, _MIB, 16 * _MIB), 10, 10.0),
    "standard": _Size(5, 0.25, tuple(1 << n for n in range(10, 27)), 30, 15.0),
    "deep": _Size(0, 0.5, tuple(1 << n for n in range(10, 29)), 100, 30.0),
}

_OWN_PATH_SECONDS = 10.0
"""For the folder in memory that this machine's nodes share."""
_NAMED_PATH_SECONDS = 30.0
"""For a path anywhere, which may be a file server's."""

START_SECONDS = 10.0
"""For the launcher: namespaces, import of the framework, the agents' first words."""


def spec_for(plan: Plan, *, run: str, names: Sequence[str], addresses: Sequence[str], level: Level,
             steps: Sequence[str], pairs_at_once: int = 0, ranks_per_node: int = 1) -> Spec:  # fmt: skip
    """What the agents of one run are told; peers in index order, steps in the order of STEPS.

    Raises ValueError for level `read`, which starts no agents, and for steps that aren't known.
    """
    if level not in _SIZES:
        raise ValueError(f"level {level} starts no agents")
    if unknown := set(steps) - set(STEPS):
        raise ValueError(f"unknown steps: {', '.join(sorted(unknown))}")
    size = _SIZES[level]
    environment = dict(plan.job.environment)
    if plan.fabric.interface:
        environment.setdefault(f"{plan.job.backend.upper()}_SOCKET_IFNAME", plan.fabric.interface)
    spec = Spec(
        run=run,
        peers=list(names),
        addresses=list(addresses),
        steps=[step for step in STEPS if step in steps],
        level=level,
        rendezvous_port=plan.job.rendezvous_port,
        # of an odd number one node sits out each round: one round more, or three nodes' third pair is never measured
        rounds=size.rounds + len(names) % 2 if size.rounds else all_rounds(len(names)),
        slice_seconds=size.slice_seconds,
        pairs_at_once=pairs_at_once,
        backend=plan.job.backend,
        ranks_per_node=ranks_per_node,
        environment=environment,
        framework_seconds=size.framework_seconds,
        sizes=list(size.sizes),
        train_steps=size.train_steps,
        storage_paths=[storage.path for storage in plan.storage],
    )
    spec.step_seconds.update(_limits(spec))
    return dataclasses.replace(spec, shared_seconds=_shared(spec))


def all_rounds(nodes: int) -> int:
    """Rounds of disjoint pairs in which every node meets every other once: n - 1, or n for an odd n."""
    return nodes - 1 + nodes % 2 if nodes > 1 else 0


def _shared(spec: Spec) -> float:
    """What a group that can't form waits for its ranks, and for the verdict on them."""
    return 2 * spec.framework_seconds


def _limits(spec: Spec) -> dict[str, float]:
    """After how many seconds a step is cut off: far above what a healthy run takes, near enough to wait for."""
    pairs = len(spec.peers) // 2
    ranks = len(spec.peers) * spec.ranks_per_node
    turns = math.ceil(pairs / (spec.pairs_at_once or pairs or 1)) * min(spec.rounds, all_rounds(len(spec.peers)))
    framework = 10.0 + _shared(spec)
    return {
        "links": 20.0 + turns * (1.0 + 8 * spec.slice_seconds),
        "collectives": framework + ranks + sum(spec.sizes) / 50e6 * spec.ranks_per_node,
        "storage": framework + (_NAMED_PATH_SECONDS * len(spec.storage_paths) or _OWN_PATH_SECONDS),
        "train": framework + ranks + 0.5 * spec.train_steps * max(1.0, spec.ranks_per_node / 2),
    }


def bound_seconds(spec: Spec) -> float:
    """The upper bound of a run with this spec, in seconds, whatever is wrong with the cluster: all deadlines together.

    Starting pods (scheduling, image pull) comes on top.
    """
    again = spec.step_seconds["join"] if "join" in spec.steps else 0.0  # once more, should the coordinator be lost
    shared = spec.shared_seconds * max(0, len({*FRAMEWORK} & {*spec.steps}) - 1)  # which all of them have once
    return START_SECONDS + spec.start_seconds + again + sum(spec.step_seconds[step] for step in spec.steps) - shared
