"""A file that is replaced by renaming is never missing and never torn.

## Why it matters
Checkpoints are written beside and renamed into place, so that a reader finds the old or the new one. Where a rename is
no single act, a restart at the wrong moment finds half a file or none.

## Usual causes
- an object store behind a FUSE client, whose rename copies and deletes
- a client's cache that shows the old name without its content

## Fix
Keep checkpoints on a POSIX file system (FSx for Lustre, EFS, NFS), or mark each with a file that is written last.

## Source
https://man7.org/linux/man-pages/man2/rename.2.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.storage.paths import Said, judge
from gonogo.facts.fields import text, whole
from gonogo.facts.storage import PathProbe, Storage
from gonogo.kernel import check
from gonogo.model import Finding, Status


@check("STO003")
def rename_is_whole(storage: Storage) -> Iterator[Finding]:
    """One finding a node, which read its neighbour's file while that was replaced; warns, since readers can wait."""
    yield from judge(storage, _say)


def _say(probe: PathProbe) -> Said | None:
    record = probe.told.get("replaced")
    if record is None:
        return None
    peer, reads = text(record, "peer"), whole(record, "reads") or 0
    missing, torn = whole(record, "missing") or 0, whole(record, "torn") or 0
    evidence = (record.evidence(f"{probe.node} read {peer}'s file {reads} times: {missing} missing, {torn} torn"),)
    if peer in probe.unseen or not reads or (missing == reads and probe.refused()):
        return Said(
            Status.UNKNOWN, f"{probe.node} never saw {peer}'s file in {probe.path} (waits for STO002)", evidence
        )
    whole_reads = reads - missing - torn
    said = f"{probe.node} found {peer}'s file whole in {whole_reads} of {reads} reads while it was replaced"
    status = Status.OK if whole_reads == reads else Status.FAIL if torn else Status.WARN
    return Said(status, f"{said} in {probe.path}", evidence, whole_reads, reads, "reads", "every read")
