"""A path of the plan does not exist.

## What is wrong
Nothing is at that path: the volume is not mounted there, or the path is misspelt. gonogo makes no folder of the plan's,
since it would be on the node's own disk.

## Fix
Mount the volume at that path in every pod, or correct `storage.path` in the plan; `findmnt` lists what is mounted.

## Source
https://man7.org/linux/man-pages/man2/statvfs.2.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gonogo.causes.storage.refusals import refusal, refused, who
from gonogo.facts.storage import MISSING, PathProbe, Storage
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Evidence, Repair


@cause("storage.path_missing")
def path_missing(findings: Findings, storage: Storage) -> Iterator[Diagnosis]:
    """One diagnosis a path: the kernel knew no such file or folder before anything was written."""
    for path, probes in refused(storage, MISSING).items():
        if gone := [p for p in probes if p.is_missing]:
            found = refusal(
                "storage.path_missing", gone, findings, evidence=_evidence,
                summary=f"{path} does not exist {who(gone, storage)}.",
                commands=(f"ls -ld {path}; findmnt",),
                watch="Whether a file system that should be there is mounted elsewhere: `findmnt`.",
            )  # fmt: skip
            yield replace(found, repair=Repair.CHANGE_JOB)


def _evidence(probe: PathProbe) -> Iterator[Evidence]:
    yield from (r.evidence for r in probe.refusals[:1])
