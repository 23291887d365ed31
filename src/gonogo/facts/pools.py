"""Why an autoscaler makes no node for a pod: what Karpenter says of each of its pools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Object, Objects, pod_specs

_POOL = re.compile(r"incompatible with (?:nodepool|provisioner) \\*\"?(?P<pool>[\w.-]+)")
_TAINT = re.compile(r"did not tolerate (?:taint )?(?:\(taint=)?(?P<what>[\w./=:-]+)")
_SIZE = re.compile(
    r"(?P<what>no instance type (?:satisfied resources|has enough|which had enough|met the resource).{0,160}"
    r"|(?:all available instance types )?exceed limits for \w+)"
)
_OFFERING = re.compile(
    r"(?P<what>no instance type which met the scheduling requirements and had enough resources,? had a required "
    r"offering)"
)
_LABEL = re.compile(
    r"(?P<what>incompatible requirements, .{0,160}"
    r"|no instance type (?:satisfied requirements|met the scheduling requirements|which met).{0,160})"
)
_LABEL_BY_ITSELF = re.compile(
    r"(?P<what>no instance type which had enough resources and the required offering met the scheduling requirements)"
)
_KINDS = (
    ("taint", _TAINT), ("offering", _OFFERING), ("label", _LABEL_BY_ITSELF), ("size", _SIZE), ("label", _LABEL),
)  # fmt: skip
_FOR_TRAINING = re.compile(r"gpu|nvidia|neuron|accelerat|efa|rdma|train|hpc|trn|[pg]\d[a-z]*\b")
_CHOSEN_BY_TYPE = ("node.kubernetes.io/", "karpenter.", "topology.kubernetes.io/", "kubernetes.io/")
"""Labels that nodes get by themselves: a pool that says nothing of them may still make a node that has one."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One pool, and why it takes no pod: a taint, what is offered now, the size of its instances, or a label."""

    event: Event
    pool: str
    kind: str
    what: str


def refusals(events: Events) -> tuple[Refusal, ...]:
    """All that Karpenter says, pool by pool."""
    return tuple(r for e in events.of("karpenter.no_fit") for r in _refusals(e))


def _refusals(event: Event) -> Iterator[Refusal]:
    text = event.get("pools")
    pieces = _POOL.split(text)
    for pool, why in [("", text)] if len(pieces) < 3 else zip(pieces[1::2], pieces[2::2], strict=True):
        for kind, pattern in _KINDS:
            if found := pattern.search(why):
                yield Refusal(event, pool, kind, found["what"].rstrip(";, "))
                break


def lines_of(refused: Iterable[Refusal]) -> Events:
    """The lines that say so, each once."""
    return Events(tuple({(r.event.file, r.event.line): r.event for r in refused}.values()))


def decisive(refused: Iterable[Refusal], objects: Objects) -> tuple[tuple[Refusal, ...], bool]:
    """The refusals by the pools that the pods are meant for, and whether it is sure that they are.

    A pool is where its object shows that it makes nodes with the labels that the pods select. Where no object tells:
    one that is for training by its name or taint, if all others are not.
    """
    every = tuple(refused)
    if len({r.kind for r in every}) < 2:
        return every, True
    fitting = {p.name for p in objects.of("NodePool", "Provisioner") if _makes_what_is_selected(p, objects)}
    if own := tuple(r for r in every if r.pool in fitting):
        return own, True
    meant = tuple(r for r in every if _FOR_TRAINING.search(f"{r.pool} {r.what if r.kind == 'taint' else ''}".lower()))
    return (meant, True) if meant and len({r.kind for r in meant}) == 1 else (every, False)


def _makes_what_is_selected(pool: Object, objects: Objects) -> bool:
    template = pool.dict("spec.template")
    labels = {**pool.dict("spec.labels"), **(template.get("metadata") or {}).get("labels", {})}
    wanted = pool.items("spec.template.spec.requirements") or pool.items("spec.requirements")
    offered = {str(r.get("key")): [str(v) for v in r.get("values") or []] for r in wanted if r.get("operator") == "In"}
    chosen = [one.dict((*spec, "nodeSelector")) for one, spec in pod_specs(objects)]
    chosen += [p.dict("spec.nodeSelector") for p in objects.of("Pod") if not p.items("spec.containers")]
    pairs = {(str(k), str(v)) for selector in chosen for k, v in selector.items()}
    return bool(pairs) and all(
        str(labels.get(k)) == v or v in offered.get(k, ()) or (k not in offered and k.startswith(_CHOSEN_BY_TYPE))
        for k, v in pairs
    )
