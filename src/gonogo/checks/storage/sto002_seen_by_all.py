"""All nodes see each other's files, soon and whole.

## Why it matters
A checkpoint that rank 0 writes must be there for the others when they start again, and data that one node prepared
for all. Where each node has a disk of its own under the same path, that shows only at the first restart.

## Usual causes
- the path is the node's or the pod's own disk: the volume is not mounted, or is an emptyDir
- two volumes of the same name, one in each zone
- attributes that a client keeps for too long (NFS's actimeo)

## Fix
`findmnt -T PATH` on the nodes that differ; mount the shared volume in every pod of the job.

## Source
https://man7.org/linux/man-pages/man5/nfs.5.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.storage.paths import Said, judge
from gonogo.facts.fields import number, texts
from gonogo.facts.storage import PathProbe, Storage
from gonogo.kernel import Skip, check
from gonogo.model import Figure, Finding, Status, node
from gonogo.plan import Plan


@check("STO002")
def seen_by_all(storage: Storage, plan: Plan) -> Iterator[Finding | Figure]:
    """One finding a node: whose files it saw, how late the last, and whether their content is right."""
    if len(storage) < 2:
        raise Skip("One node alone shares no files.")
    private = {s.path for s in plan.storage if not s.shared}
    for probe in storage.paths():
        record = probe.told.get("visible")
        late = number(record, "seconds") if record else None
        if late is not None and texts(record or {}, "seen"):
            yield Figure("storage_visible_after", late, "seconds", node(probe.node), {"path": probe.path})
    yield from judge(storage, lambda probe: _say(probe, private))


def _say(probe: PathProbe, private: set[str]) -> Said | None:
    record = probe.told.get("visible")
    if probe.path in private:
        return Said(Status.SKIP, f"{probe.path} is not meant to be shared (plan)")
    if record is None:
        return None
    seen, unseen, wrong = texts(record, "seen"), probe.unseen, probe.wrong_blocks
    evidence = (record.evidence(f"{probe.node} sees files of {', '.join(seen) or 'nobody'} in {probe.path}"),)
    if not seen and not unseen:
        return Said(Status.UNKNOWN, f"no other node could write to {probe.path} for {probe.node} to see", evidence)
    total = len(seen) + len(unseen)
    text = f"{probe.node} sees files of {len(seen)} of {total} other nodes in {probe.path}"
    late = number(record, "seconds")
    after = f", the last after {late:.2f} s" if seen and late is not None else ""
    missing = f", none of {', '.join(unseen)}" if unseen else ""
    torn = f", with wrong content from {', '.join(wrong)}" if wrong else ""
    status = Status.FAIL if unseen or wrong else Status.OK
    return Said(status, text + after + missing + torn, evidence, len(seen), total, "nodes", "all nodes that wrote")
