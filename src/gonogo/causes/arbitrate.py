"""From what all causes say to one list in causal order: root causes, each with what it explains under it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gonogo.kernel import PREFIXES, Cause, Findings
from gonogo.model import Certainty, Diagnosis, Evidence, Finding, FindingKey, Status, Subject

_LAYERS = (
    ("iam", "quota", "capacity", "eks"),
    ("kubernetes", "scheduling", "image", "pod"),
    ("hardware", "node", "runtime", "limits", "software"),
    ("network", "cni", "efa"),
    ("gpu", "storage", "nccl", "gloo"),
    ("link",),
    ("job", "mpi", "horovod"),
    ("collective",),
    ("train",),
)
_LAYER = {area: number for number, areas in enumerate(_LAYERS) for area in areas}
_STRIKES_IN = {
    "job.rendezvous_dns_not_ready": "network",
    "job.master_addr_wrong": "network",
    "network.latency_high": "link",
    "network.link_slow": "link",
    "network.mtu_mismatch": "link",
    "network.packet_loss": "link",
    "network.connection_cut": "link",
    "network.interface_down": "link",
    # what keeps pods from nodes: nothing that needs the pods can be judged before
    "cni.plugin_not_ready": "scheduling",
    "efa.device_plugin_affinity_excludes_instance_type": "scheduling",
    "efa.device_plugin_miscounts_devices": "scheduling",
    "efa.device_plugin_missing": "scheduling",
    "gpu.device_plugin_missing": "scheduling",
    "gpu.fewer_than_type": "scheduling",
    "node.hugepages_not_registered": "scheduling",
    "node.kubelet_down": "scheduling",
    "storage.csi_driver_not_installed": "scheduling",
    "storage.pvc_not_bound": "scheduling",
    "storage.volume_zone_conflict": "scheduling",
}
"""Causes that belong to one area and strike in the layer of another: names come before anything is carried."""
_CERTAINTIES = list(Certainty)


def arbitrate(
    diagnoses: Iterable[Diagnosis], findings: Iterable[Finding], causes: Iterable[Cause]
) -> tuple[Diagnosis, ...]:
    """Root causes, the first in causal order first.

    Drops what is contradicted or explains nothing of what was found, lets the general give way to the special, says
    once what most nodes share, and nests a diagnosis under an earlier one that explains all that it explains. Pure, and
    the same for any order of input.
    """
    found = Findings(findings)
    kept = sorted({d for d in diagnoses if d.explains and not d.contradicts}, key=_order)
    kept = _give_way(kept, tuple(causes))
    kept = _once(kept, found)
    return _nest(sorted(kept, key=_order))


def _layer(diagnosis: Diagnosis) -> int:
    return _LAYER.get(_STRIKES_IN.get(diagnosis.cause, diagnosis.cause.partition(".")[0]), len(_LAYERS))


def _order(diagnosis: Diagnosis) -> tuple[object, ...]:
    """Layer, then how much is explained, then certainty; the rest only makes the order total."""
    certainty = _CERTAINTIES.index(diagnosis.certainty)
    return _layer(diagnosis), -len(diagnosis.explains), certainty, diagnosis.cause, diagnosis.subjects, repr(diagnosis)


def _roots(diagnosis: Diagnosis) -> frozenset[FindingKey]:
    """What it explains in the lowest layer that it touches: the findings that tell this fault from another."""
    layer = {key: _LAYER.get(PREFIXES.get(key.check[:3], ""), len(_LAYERS)) for key in diagnosis.explains}
    lowest = min(layer.values(), default=0)
    return frozenset(key for key, number in layer.items() if number == lowest)


def _refined_by(id: str, causes: Sequence[Cause]) -> frozenset[str]:
    """All causes that are more special than this one, at any remove."""
    found: set[str] = set()
    fresh = {id}
    while fresh:
        fresh = {c.id for c in causes if fresh & set(c.refines)} - found - {id}
        found |= fresh
    return frozenset(found)


def _give_way(diagnoses: Sequence[Diagnosis], causes: Sequence[Cause]) -> list[Diagnosis]:
    """A general diagnosis keeps the roots that no more special one explains, and goes when none is left."""
    kept = []
    for general in diagnoses:
        special = _refined_by(general.cause, causes)
        roots = _roots(general)
        taken = roots & {key for d in diagnoses if d.cause in special for key in d.explains}
        if not taken:
            kept.append(general)
        elif taken != roots:
            kept.append(replace(general, explains=tuple(k for k in general.explains if k not in taken)))
    return kept


def _once(diagnoses: Sequence[Diagnosis], findings: Findings) -> list[Diagnosis]:
    """One diagnosis instead of many where one cause names more than half of all nodes, each for itself."""
    nodes = {f.subject for f in findings if f.subject.kind == "node"}
    by_cause: dict[str, list[Diagnosis]] = {}
    for d in diagnoses:
        by_cause.setdefault(d.cause, []).append(d)
    kept = []
    for alike in by_cause.values():
        subjects = tuple(dict.fromkeys(s for d in alike for s in d.subjects))
        named = {s for s in subjects if s.kind == "node"}
        if len(alike) > 1 and len(nodes) > 2 and 2 * len(named & nodes) > len(nodes) and _each_names_one(alike):
            kept.append(_merged(alike, subjects, len(named), len(nodes)))
        else:
            kept += alike
    return kept


def _each_names_one(diagnoses: Iterable[Diagnosis]) -> bool:
    return all(len([s for s in d.subjects if s.kind == "node"]) == 1 for d in diagnoses)


def _merged(alike: Sequence[Diagnosis], subjects: tuple[Subject, ...], named: int, nodes: int) -> Diagnosis:
    shared = f"{named} of {nodes} nodes fail alike: suspect what they share (the image, the plan or the check itself)."
    first = min(alike, key=_order)
    return replace(
        first,
        certainty=max((d.certainty for d in alike), key=_CERTAINTIES.index),
        summary=f"{shared} {first.summary}",
        subjects=subjects,
        evidence=(Evidence(shared), *dict.fromkeys(d.evidence[0] for d in alike if d.evidence)),
        explains=tuple(dict.fromkeys(key for d in alike for key in d.explains)),
        commands=tuple(dict.fromkeys(command for d in alike for command in d.commands)),
    )


def _nest(diagnoses: Sequence[Diagnosis]) -> tuple[Diagnosis, ...]:
    """A diagnosis goes under the first one of an earlier layer that explains all that it explains.

    Two of one layer are independent: neither hides the other, whatever they share.
    """
    roots: list[Diagnosis] = []
    under: dict[int, list[Diagnosis]] = {}
    for d in diagnoses:
        parent = next((i for i, root in enumerate(roots) if _is_consequence(d, root)), None)
        if parent is None:
            roots.append(d)
        else:
            under.setdefault(parent, []).append(d)
    return tuple(replace(d, consequences=(*d.consequences, *under.get(i, ()))) for i, d in enumerate(roots))


def _is_consequence(diagnosis: Diagnosis, root: Diagnosis) -> bool:
    return (
        bool(diagnosis.explains) and _layer(root) < _layer(diagnosis) and set(diagnosis.explains) <= set(root.explains)
    )


def unexplained(diagnoses: Iterable[Diagnosis], findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The fails that no diagnosis explains."""
    explained = {key for d in diagnoses for key in d.explains}
    return tuple(f for f in findings if f.status is Status.FAIL and f.key not in explained)
