"""A file lock that one node holds keeps the others out.

## Why it matters
Caches of data sets and compiled kernels, and download folders that ranks share, rely on locks. Where a file system
grants one lock to everybody, such files get mixed up.

## Usual causes
- Lustre mounted without `-o flock`
- NFS mounted with `nolock` or `local_lock`
- a FUSE client that knows no locks

## Fix
Mount with locks (`-o flock` for Lustre), or keep what is locked on each node's own disk (HF_HOME, TRITON_CACHE_DIR).

## Source
https://man7.org/linux/man-pages/man2/flock.2.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.storage.paths import Said, judge
from gonogo.facts.fields import text, whole
from gonogo.facts.storage import PathProbe, Storage
from gonogo.kernel import check
from gonogo.model import Finding, Status


@check("STO004")
def locks_hold(storage: Storage) -> Iterator[Finding]:
    """One finding a node: rank 0's lock excluded it, and all counted without losing one; training can do without.

    A count that is short is all nodes' to tell, unless some of them were seen to have the lock in spite of rank 0.
    """
    deaf = {(p.path, text(r, "function")) for p in storage.paths() for r in p.locks if r.get("excluded") is False}
    yield from judge(storage, lambda probe: _say(probe, deaf))


def _say(probe: PathProbe, deaf: set[tuple[str, str]]) -> Said | None:
    refusal = probe.refused("flock", "fcntl")
    if refusal and not probe.refused("space", "folder", "write", "put"):
        said = f"{probe.path} knows no {refusal.op} locks: {refusal.errno or refusal.text}"
        return Said(Status.WARN, f"On {probe.node} {said}", (refusal.evidence,))
    if not probe.locks:
        return None
    unheld = [
        r
        for r in probe.locks
        if r.get("excluded") is not True
        or (whole(r, "total") != whole(r, "ranks") and (probe.path, text(r, "function")) not in deaf)
    ]
    functions = ", ".join(text(r, "function") for r in unheld or probe.locks)
    shown = tuple(
        r.evidence(f"{text(r, 'function')} on {probe.node}: excluded {r.get('excluded')}, {r.get('total')} counted")
        for r in unheld or probe.locks
    )
    held = "do not hold" if unheld else "hold"
    said = f"Locks by {functions} {held} between {probe.node} and the others in {probe.path}"
    return Said(Status.WARN if unheld else Status.OK, said, shown, len(probe.locks) - len(unheld), len(probe.locks))
