"""A checkpoint is incomplete or unreadable.

## What is wrong
Files that one node replaces by renaming are seen in part by another: its client copies instead, or shows a file before
all of it is there. A rank that loads a checkpoint while another saves it gets a broken one.

## Fix
Write a checkpoint under a name of its own and publish it by a last small file; keep the one before. Look at the client
of the node that is named: object stores behind a file system and some FUSE clients have no atomic rename.

## Source
https://man7.org/linux/man-pages/man2/rename.2.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST, MOST_NODES, and_others, on
from gonogo.causes.consequences import bad
from gonogo.facts.fields import text, whole
from gonogo.facts.storage import PathProbe, Storage
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Repair, node


@cause("storage.checkpoint_torn")
def checkpoint_torn(findings: Findings, storage: Storage) -> Iterator[Diagnosis]:
    """One diagnosis a path; it names whose files were torn, or nobody where all were."""
    for path in storage.named():
        probes = storage.on(path)
        torn = {p.node: p for p in probes.values() if _count(p, "torn")}
        if not torn:
            continue
        writers = tuple(dict.fromkeys(text(p.told["replaced"], "peer") for p in torn.values()))
        whose = and_others(writers) if len(writers) < len(probes) else "all nodes"
        reads, broken = (sum(_count(p, key) for p in torn.values()) for key in ("reads", "torn"))
        yield Diagnosis(
            cause="storage.checkpoint_torn",
            certainty=Certainty.ESTABLISHED,
            summary=f"In {path} files of {whose} are seen in part while they are replaced by renaming: "
            f"{broken} of {reads} reads.",
            subjects=tuple(node(name) for name in writers),
            evidence=tuple(
                p.told["replaced"].evidence(f"{name}: {_count(p, 'torn')} of {_count(p, 'reads')} reads torn")
                for name, p in list(torn.items())[:MOST]
            ),
            explains=bad(findings, "STO003", about={node(name) for name in torn}),
            repair=Repair.CHANGE_STORAGE,
            commands=tuple(
                on(name, f"findmnt -T {path} -o TARGET,SOURCE,FSTYPE,OPTIONS") for name in writers[:MOST_NODES]
            ),
            next_observation="Whether it is the writer or the reader: the same with another pair of nodes.",
        )


def _count(probe: PathProbe, key: str) -> int:
    record = probe.told.get("replaced")
    return (whole(record, key) or 0) if record else 0
