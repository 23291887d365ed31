"""File descriptors run out.

## What is wrong
Data loaders, sockets between ranks and memory-mapped files together need more descriptors than the limit.

## Fix
`ulimit -n 1048576` for the runtime, or `torch.multiprocessing.set_sharing_strategy("file_system")`.

## Source
https://pytorch.org/docs/stable/multiprocessing.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("limits.open_files_too_few", also=True)
def open_files_too_few_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the kernel's word in a log."""
    seen = events.of("limits.open_files")
    if seen:
        yield diagnosis(
            "limits.open_files_too_few",
            "A process used up its file descriptors.",
            seen,
            repair=Repair.CHANGE_CLUSTER,
            commands=("ulimit -n; ls /proc/<pid>/fd | wc -l  # in the pod",),
        )
