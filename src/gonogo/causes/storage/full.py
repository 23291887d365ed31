"""No space or no inodes are left.

## What is wrong
The file system is full: of checkpoints, caches, logs; or of small files, which use up inodes before the space; or a
quota is used up. torch.save ends the process with an abort that names no errno, and leaves half a file.

## Fix
Delete or enlarge. `du -xsh PATH/*` finds what is large, `du --inodes -xs PATH/*` what is many.

## Source
https://man7.org/linux/man-pages/man1/df.1.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.storage.refusals import refusal, refused, who
from gonogo.facts.storage import PathProbe, Storage
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Evidence


@cause("storage.full")
def full(findings: Findings, storage: Storage) -> Iterator[Diagnosis]:
    """One diagnosis a path: the kernel refused a write for want of space, inodes or quota."""
    for path, probes in refused(storage, {"ENOSPC", "EDQUOT"}).items():
        yield refusal(
            "storage.full", probes, findings, evidence=_evidence,
            summary=f"{path} has no {_what(probes)} left {who(probes, storage)}.",
            commands=(f"df -h {path}; df -i {path}; du -xsh {path}/*",),
            watch=f"What fills it: `du -xah {path} | sort -h | tail`.",
        )  # fmt: skip


def _what(probes: list[PathProbe]) -> str:
    if any(r.errno == "EDQUOT" for p in probes for r in p.refusals):
        return "quota"
    spaces = [p.space for p in probes if p.space]
    return "inodes" if any(s.inodes_total and not s.inodes_free for s in spaces) else "space"


def _evidence(probe: PathProbe) -> Iterator[Evidence]:
    yield next(r.evidence for r in probe.refusals if r.errno in ("ENOSPC", "EDQUOT"))
    if s := probe.space:
        inodes = f", {s.inodes_free} of {s.inodes_total} inodes" if s.inodes_total else ""
        yield s.record.evidence(f"{probe.node} before: {s.bytes_free} of {s.bytes_total} bytes free{inodes}")
