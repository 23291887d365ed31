"""From a limit that leaves too little to a diagnosis, and what follows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gonogo.causes.commands import MOST, MOST_NODES, and_others, on
from gonogo.causes.consequences import bad, stopped, waiting
from gonogo.facts.nodes import Nodes
from gonogo.kernel import Findings
from gonogo.model import Certainty, Diagnosis, Finding, FindingKey, Repair, Status, link


def short(
    cause: str,
    check: str,
    findings: Findings,
    nodes: Nodes,
    *,
    what: str,
    commands: Callable[[str], Iterable[str]],
    repair: Repair,
    watch: str,
    links: bool = False,
    status: Status = Status.FAIL,
) -> Iterator[Diagnosis]:
    """At most one diagnosis: all nodes for which the check fails. With `links`, it also cuts their connections."""
    found = findings.of(check, status)
    if not found:
        return
    names = [f.subject.name for f in found]
    yield Diagnosis(
        cause=cause,
        certainty=Certainty.ESTABLISHED if status is Status.FAIL else Certainty.SUPPORTED,
        summary=f"{what} on {len(found)} of {len(nodes)} nodes ({and_others(names)}): {found[0].message}",
        subjects=tuple(f.subject for f in found),
        evidence=tuple(e for f in found[:MOST] for e in f.evidence),
        explains=_explains(findings, found, names, links),
        repair=repair,
        commands=tuple(on(name, command) for name in names[:MOST_NODES] for command in commands(name)),
        next_observation=watch,
    )


def _explains(findings: Findings, found: Iterable[Finding], names: list[str], links: bool) -> tuple[FindingKey, ...]:
    if not links:
        return tuple(f.key for f in found)
    others = {f.subject.name for f in findings if f.subject.kind == "link"}
    pairs = {link(a, b) for a in others for b in names} | {link(b, a) for a in others for b in names}
    cut = bad(findings, "NET001", "NET002", "NET008", "LNK001", "LNK002", "LNK003", about=pairs)
    keys = (*(f.key for f in found), *cut, *waiting(findings, names), *stopped(findings, names))
    return tuple(dict.fromkeys(keys))
