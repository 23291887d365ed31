"""What one node wrote others don't see, or see as something else.

## What is wrong
All nodes have the shared file system mounted, and yet files of some don't appear for others within the time that its
clients may keep what they know, or appear with other content. A restart would find an old checkpoint or none.

## Fix
Look at the client's options (NFS: actimeo, lookupcache, nolock), at its connection to the server, and whether both
mount the same export.

## Source
https://man7.org/linux/man-pages/man5/nfs.5.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST, MOST_NODES, on
from gonogo.causes.consequences import bad
from gonogo.causes.storage.sharing import apart
from gonogo.facts.storage import Storage
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Repair, node
from gonogo.plan import Plan


@cause("storage.not_visible_between_nodes")
def not_visible_between_nodes(findings: Findings, storage: Storage, plan: Plan) -> Iterator[Diagnosis]:
    """One diagnosis a path; gives way where a node is known to have a disk of its own there."""
    private = {s.path for s in plan.storage if not s.shared}
    for path in storage.named():
        probes = storage.on(path)
        found = apart(path, probes)
        torn = [p for p in probes.values() if p.wrong_blocks]
        if path in private or not (found or torn):
            continue
        blind = [*(found.blind if found else ()), *torn]
        names = found.nodes if found else tuple(dict.fromkeys(name for p in torn for name in p.wrong_blocks))
        missing = "don't appear" if found else "appear with other content"
        yield Diagnosis(
            cause="storage.not_visible_between_nodes",
            certainty=Certainty.SUPPORTED,
            summary=f"Files in {path} of or for {', '.join(names)} {missing} on {len(blind)} of {len(probes)} nodes.",
            subjects=tuple(node(name) for name in names),
            evidence=tuple(
                p.told["visible"].evidence(
                    f"{p.node} misses {', '.join(p.unseen) or 'nobody'}; wrong: {p.wrong_blocks}"
                )
                for p in blind[:MOST]
            ),
            explains=bad(findings, "STO002", "STO003", "STO004", "STO005"),
            repair=Repair.CHANGE_STORAGE,
            commands=tuple(
                on(name, f"findmnt -T {path} -o TARGET,SOURCE,FSTYPE,OPTIONS") for name in names[:MOST_NODES]
            ),
            next_observation="Whether they appear later: list the folder again in a minute.",
        )
