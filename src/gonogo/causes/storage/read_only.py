"""The file system can't be written.

## What is wrong
It is mounted read-only: on purpose, by a claim with ReadOnlyMany, or by the kernel after an error of the disk. Every
checkpoint fails; torch says only that a file can't be opened.

## Fix
`findmnt -T PATH` shows the options; after an error the kernel's log comes first. Then remount, or correct the claim's
access mode or the `readOnly` of its mount.

## Source
https://man7.org/linux/man-pages/man8/mount.8.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.storage.refusals import refusal, refused, who
from gonogo.facts.storage import PathProbe, Storage
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Evidence


@cause("storage.read_only")
def read_only(findings: Findings, storage: Storage) -> Iterator[Diagnosis]:
    """One diagnosis a path: the kernel said EROFS, or that the mount is read-only."""
    for path, probes in refused(storage, {"EROFS"}).items():
        yield refusal(
            "storage.read_only", probes, findings, evidence=_evidence,
            summary=f"{path} can only be read {who(probes, storage)}.",
            commands=(f"findmnt -T {path} -o TARGET,SOURCE,FSTYPE,OPTIONS", f"mount -o remount,rw {path}"),
            watch="Whether the kernel made it so after an error: `dmesg -T | grep -i remount`.",
        )  # fmt: skip


def _evidence(probe: PathProbe) -> Iterator[Evidence]:
    yield from (r.evidence for r in probe.refusals[:1])
    if probe.space and probe.space.read_only:
        yield probe.space.record.evidence(f"{probe.node}: {probe.space.source} on {probe.space.mount} is read-only")
