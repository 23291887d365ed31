"""Nodes write to a disk of their own where all should share one.

## What is wrong
Under the same path the nodes that are named have another file system than the others: the pod's or the node's own
disk, an emptyDir, a volume of its own. Saving works everywhere; the first restart on other nodes finds nothing.

## Fix
Mount the shared volume at that path in every pod, on every node.

## Source
https://pytorch.org/docs/stable/distributed.checkpoint.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST, MOST_NODES, on
from gonogo.causes.consequences import bad
from gonogo.causes.storage.sharing import Apart, apart
from gonogo.facts.storage import PathProbe, Storage
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Evidence, Repair, node
from gonogo.plan import Plan


@cause("storage.checkpoint_not_shared", refines=("storage.not_visible_between_nodes",))
def checkpoint_not_shared(findings: Findings, storage: Storage, plan: Plan) -> Iterator[Diagnosis]:
    """One diagnosis a path whose files others don't see, and that is held by a file system of the node's own."""
    private = {s.path for s in plan.storage if not s.shared}
    for path in storage.named():
        found = apart(path, storage.on(path)) if path not in private else None
        if found and found.own_disks:
            yield _diagnosis(found, findings)


def _diagnosis(found: Apart, findings: Findings) -> Diagnosis:
    mine = found.alone or found.every
    held = ", ".join(dict.fromkeys(f"{p.space.type} ({p.space.source})" for p in mine if p.space))
    names = ", ".join(found.nodes)
    who = f"{names} has a file system of its own" if len(mine) == 1 else f"{names} have file systems of their own"
    others = len(found.every) - len(found.alone)
    seen = f"the other {others} nodes see nothing of it" if found.alone else "no node sees another's files"
    return Diagnosis(
        cause="storage.checkpoint_not_shared",
        certainty=Certainty.ESTABLISHED,
        summary=f"{found.path} is not shared: {who} there, {held}, and {seen}.",
        subjects=tuple(node(name) for name in found.nodes),
        evidence=(*_told(found.blind), *_held(mine)),
        explains=bad(findings, "STO002", "STO003", "STO004", "STO005"),
        repair=Repair.CHANGE_STORAGE,
        commands=tuple(on(n, f"findmnt -T {found.path} -o TARGET,SOURCE,FSTYPE") for n in found.nodes[:MOST_NODES]),
        next_observation="What the other nodes have mounted there: the same command on one of them.",
    )


def _told(probes: tuple[PathProbe, ...]) -> Iterator[Evidence]:
    for p in probes[:MOST]:
        yield p.told["visible"].evidence(f"{p.node} sees no files of {', '.join(p.unseen)} in {p.path}")


def _held(probes: tuple[PathProbe, ...]) -> Iterator[Evidence]:
    for p in probes[:MOST]:
        if s := p.space:
            yield s.record.evidence(f"{p.path} on {p.node} is held by {s.type}, {s.source} on {s.mount}")
