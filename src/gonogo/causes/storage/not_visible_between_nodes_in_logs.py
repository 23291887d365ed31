"""What one node wrote others don't see in time.

## What is wrong
The file system is shared, and its clients keep what they know of a directory for up to a minute. A rank that looks
right after another one saved finds nothing, and a moment later the file is there.

## Fix
Mount with noac, or lookupcache=none (NFS), for checkpoints; or let readers try again for a minute.

## Source
https://man7.org/linux/man-pages/man5/nfs.5.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.causes.storage.files import missing_files, shared_mounts
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("storage.not_visible_between_nodes", refines=("pod.user_code_error", "job.rank_stalled"), also=True)
def not_visible_between_nodes_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where one rank saved a file on a shared file system and another doesn't find it."""
    lost, saved = missing_files(events)
    mounts = shared_mounts(events, lost)
    if lost and saved and mounts:
        yield diagnosis(
            "storage.not_visible_between_nodes",
            f"{lost.first.who} does not see yet what another rank wrote to {mounts.first.get('path')}.",
            lost,
            mounts,
            saved,
            events.of("storage.file_size"),
            repair=Repair.CHANGE_STORAGE,
            commands=(f"grep {mounts.first.get('path')} /proc/mounts  # acdirmin, acdirmax, lookupcache",),
        )
