"""No space or no inodes left.

## What is wrong
A file system is full: of checkpoints, caches, logs; or of small files.

## Fix
Delete, or enlarge.

## Source
https://man7.org/linux/man-pages/man1/df.1.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.facts.space import shortage
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("storage.full", refines=("storage.checkpoint_torn", "pod.user_code_error", "job.rank_died"), also=True)
def full_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the kernel's word, where it is of files: shared memory and the kernel's own tables are no disk."""
    seen = shortage(events).file_systems
    if not seen and events.of("host.disk_full"):
        seen = events.of("storage.write_failed")
    if seen:
        yield diagnosis(
            "storage.full",
            "A file system has no space left.",
            seen,
            events.of("host.disk_full"),
            repair=Repair.CHANGE_STORAGE,
            commands=("df -h; df -i  # where the job writes",),
        )
