"""Storage has space and inodes left, and may be written.

## Why it matters
A checkpoint that doesn't fit ends the training with an abort that names no reason, and leaves half a file.

## Usual causes
- old checkpoints, caches or logs
- many small files: inodes run out before the space does
- a file system that the kernel remounted read-only after an error

## Fix
`df -h PATH; df -i PATH`; delete or enlarge. After an error: the kernel's log first, then a check of the file system.

## Source
https://man7.org/linux/man-pages/man3/statvfs.3.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.storage.paths import Said, judge
from gonogo.facts.storage import PathProbe, Space, Storage
from gonogo.kernel import check
from gonogo.model import Figure, Finding, Status, node

LEAST_BYTES = 64 << 20
LEAST_INODES = 256
"""What the smallest probe of this level needs itself; how large the user's checkpoints are is not known here."""


@check("STO006")
def room_left(storage: Storage) -> Iterator[Finding | Figure]:
    """One finding a node, before anything was written."""
    for probe in storage.paths():
        if probe.space and probe.space.bytes_free is not None:
            yield Figure("storage_free", probe.space.bytes_free, "bytes", node(probe.node), {"path": probe.path})
    yield from judge(storage, _say)


def _say(probe: PathProbe) -> Said | None:
    space = probe.space
    if space is None or space.bytes_free is None:
        return None
    inodes = bool(space.inodes_total) and (space.inodes_free or 0) < LEAST_INODES
    short = space.bytes_free < LEAST_BYTES or inodes or space.read_only
    said = f"{probe.node} has {spell_space(space)} in {probe.path}{' (read-only)' if space.read_only else ''}"
    evidence = (space.record.evidence(f"{probe.path} on {probe.node}: {space.type}, {spell_space(space)}"),)
    return Said(
        Status.FAIL if short else Status.OK, said, evidence, space.bytes_free, LEAST_BYTES, "bytes", "this run's files"
    )


def spell_space(space: Space) -> str:
    """3.2 of 8.0 GiB and 12 of 100 inodes free."""
    free, total = (space.bytes_free or 0) / 2**30, (space.bytes_total or 0) / 2**30
    inodes = f" and {space.inodes_free} of {space.inodes_total} inodes" if space.inodes_total else ""
    return f"{free:.3g} of {total:.3g} GiB{inodes} free"
