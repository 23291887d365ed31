"""The causal order of what causes say about logs and objects: roots first, symptoms under them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gonogo.causes.scopes import Scopes
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import Cause, Registry
from gonogo.model import Certainty, Diagnosis

NOTHING = Objects()
SYMPTOMS = (
    "job.rank_stalled",
    "job.rendezvous_timeout_missing_ranks",
    "horovod.missing_ranks_stall",
    "job.rank_died",
    "network.port_blocked",
    "job.restart_hides_error",
    "pod.user_code_error",
    "job.collective_mismatch",
    "node.not_joined",
    "scheduling.insufficient_resources",
)
"""What a fault somewhere else makes happen, the emptiest first: alone it is the cause, beside another it follows."""

LAYERS = (
    ("iam", "quota", "capacity"),
    ("hardware", "gpu", "node"),
    ("network", "cni", "eks"),
    ("kubernetes", "runtime", "storage", "image", "limits"),
    ("efa", "software", "scheduling"),
    ("pod", "nccl", "gloo"),
    ("job", "mpi", "horovod"),
    ("link", "collective", "train"),
)
_LAYER = {area: number for number, areas in enumerate(LAYERS) for area in areas}
_CERTAINTIES = list(Certainty)


def in_causal_order(
    diagnoses: Iterable[Diagnosis], events: Events, registry: Registry, objects: Objects = NOTHING
) -> tuple[Diagnosis, ...]:
    """Drops what is contradicted; puts the general under the special and symptoms under the first root.

    Roots come by certainty, then layer, then the time of their first line. What is of another job than a root stays
    beside it. Pure.
    """
    times = {(e.file, e.line): e.when.seconds for e in events if e.when and e.when.clock == "wall"}
    kept = sorted({d for d in diagnoses if not d.contradicts}, key=lambda d: _order(d, times))
    names = {d.cause for d in kept}
    special = {name: _special(name, registry.every_cause) & names for name in names}
    roots = [d for d in kept if not special[d.cause]]
    under: dict[int, list[Diagnosis]] = {}
    for d in [d for d in kept if special[d.cause]]:
        parent = next((i for i, root in enumerate(roots) if root.cause in special[d.cause]), 0)
        under.setdefault(parent, []).append(d)
    scopes = Scopes(events, objects)
    if roots and (roots[0].cause in SYMPTOMS or roots[0].certainty is not Certainty.HYPOTHESIS):
        first = scopes.of(roots[0])
        follows = [d for d in roots[1:] if d.cause in SYMPTOMS and not scopes.apart(first, scopes.of(d))]
        under.setdefault(0, []).extend(follows)
        roots = [d for d in roots if not any(d is f for f in follows)]
    return tuple(replace(d, consequences=(*d.consequences, *under.get(i, ()))) for i, d in enumerate(roots))


def by_rank(diagnoses: Iterable[Diagnosis], events: Events) -> tuple[Diagnosis, ...]:
    """Root causes of several jobs in one order."""
    times = {(e.file, e.line): e.when.seconds for e in events if e.when and e.when.clock == "wall"}
    return tuple(sorted(diagnoses, key=lambda d: _order(d, times)))


def _order(diagnosis: Diagnosis, times: Mapping[tuple[str, int], float]) -> tuple[object, ...]:
    cause = diagnosis.cause
    symptom = len(SYMPTOMS) - SYMPTOMS.index(cause) if cause in SYMPTOMS else 0
    hypothesis = diagnosis.certainty is Certainty.HYPOTHESIS
    began = min((times[e.file, e.line] for e in diagnosis.evidence if (e.file, e.line) in times), default=float("inf"))
    layer = _LAYER.get(cause.partition(".")[0], len(LAYERS))
    return hypothesis, symptom, _CERTAINTIES.index(diagnosis.certainty), layer, began, cause, repr(diagnosis)


def _special(id: str, causes: Sequence[Cause]) -> set[str]:
    """All causes that are more special than this one, at any remove."""
    found: set[str] = set()
    fresh = {id}
    while fresh:
        fresh = {c.id for c in causes if fresh & set(c.refines)} - found - {id}
        found |= fresh
    return found
