"""What a node writes to storage it reads back.

## Why it matters
A training that can't save is lost with its first fault; one that can't read never starts. torch reports a full or a
read-only file system as an abort without errno.

## Usual causes
- the file system is full, out of inodes, or mounted read-only
- permissions: the pod's user may not write there
- a quota of the user or the project

## Fix
`df -h`, `df -i` and `mount` on the node that is named; fsGroup or the directory's owner for permissions.

## Source
https://man7.org/linux/man-pages/man2/write.2.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.storage.paths import Said, judge
from gonogo.facts.fields import whole
from gonogo.facts.gloo import choice
from gonogo.facts.identities import Identities
from gonogo.facts.nodes import Nodes
from gonogo.facts.storage import PathProbe, Storage, StorageRanks
from gonogo.kernel import check
from gonogo.model import Finding, Status
from gonogo.plan import Plan

OPS = ("space", "folder", "write", "read", "small", "put")


@check("STO001")
def written_is_read(
    ranks: StorageRanks, storage: Storage, nodes: Nodes, plan: Plan, identities: Identities
) -> Iterator[Finding]:
    """One finding a node: a large file and many small ones, durable before they are read; the kernel adds the lost.

    All ranks look together, so that a group which can't form leaves nobody to look: then what Gloo uses is told, too.
    """
    for subject, entry in ranks.present.items():
        if not entry.paths:
            info = nodes.present.get(subject)
            chosen = choice(info, plan, identities) if info and plan.job.backend == "gloo" else None
            uses = f" Gloo on {subject.name} uses {chosen.text}." if chosen and not chosen.usable else ""
            why = f"{subject.name} did not look at storage: {entry.why_not}."
            yield Finding(Status.UNKNOWN, subject, why + uses, evidence=entry.evidence)
    yield from judge(storage, _say, waits=False)


def _say(probe: PathProbe) -> Said | None:
    if refusal := probe.refused(*OPS):
        why = f"{refusal.op} failed with {refusal.errno or refusal.text}"
        why = f"it does not exist on {probe.node}" if probe.is_missing else why
        said = f"{probe.node} can't use {probe.path}: {why}"
        return Said(Status.FAIL, said, (refusal.evidence,), refusal.errno)
    wrote, read = probe.told.get("write"), probe.told.get("read")
    if not wrote or not read or "small" not in probe.told:
        return None
    sent, got = whole(wrote, "bytes"), whole(read, "bytes")
    files = whole(probe.told["small"], "files")
    text = f"{probe.node} read back {got} of {sent} bytes written to {probe.path}, and {files} small files"
    evidence = (read.evidence(f"{probe.node} read {got} bytes back from {probe.path}"),)
    return Said(Status.OK if got == sent else Status.FAIL, text, evidence, got, sent, "bytes", "what it wrote")
