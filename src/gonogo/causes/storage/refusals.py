"""From what the kernel refused on a path to a diagnosis, and what follows of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from gonogo.causes.commands import MOST, MOST_NODES, and_others, on
from gonogo.causes.consequences import bad
from gonogo.facts.storage import PathProbe, Storage
from gonogo.kernel import Findings
from gonogo.model import Certainty, Diagnosis, Evidence, FindingKey, Repair, node


def refused(storage: Storage, errnos: Collection[str]) -> dict[str, list[PathProbe]]:
    """Path -> the probes in which the kernel refused something for one of these reasons."""
    found: dict[str, list[PathProbe]] = {}
    for probe in storage.paths():
        if any(r.errno in errnos for r in probe.refusals):
            found.setdefault(probe.path, []).append(probe)
    return found


def refusal(
    cause: str, probes: Collection[PathProbe], findings: Findings, *,
    summary: str, evidence: Callable[[PathProbe], Iterable[Evidence]], commands: Iterable[str], watch: str,
) -> Diagnosis:  # fmt: skip
    """What the kernel refused on one path; the commands are for each node of the probes."""
    names = [p.node for p in probes]
    return Diagnosis(
        cause=cause,
        certainty=Certainty.ESTABLISHED,
        summary=summary,
        subjects=tuple(node(name) for name in names),
        evidence=tuple(e for p in list(probes)[:MOST] for e in evidence(p)),
        explains=_explained(findings, names),
        repair=Repair.CHANGE_STORAGE,
        commands=tuple(on(name, command) for command in commands for name in names[:MOST_NODES]),
        next_observation=watch,
    )


def _explained(findings: Findings, names: Iterable[str]) -> tuple[FindingKey, ...]:
    """What else fails in the storage of these nodes, and in a checkpoint that all share."""
    mine = {node(name) for name in names}
    checks = ("STO001", "STO003", "STO004", "STO006", "STO007")
    return tuple(dict.fromkeys((*bad(findings, *checks, about=mine), *bad(findings, "STO002", "STO005"))))


def who(probes: Collection[PathProbe], storage: Storage) -> str:
    """On all 3 nodes, or on 1 of 3 nodes (node2); on the only one by its name."""
    names = [p.node for p in probes]
    if len(names) == len(storage):
        return f"on all {len(names)} nodes" if len(names) > 1 else f"on {and_others(names)}"
    return f"on {len(names)} of {len(storage)} nodes ({and_others(names)})"
