"""A fork collides with memory that is registered for EFA.

## What is wrong
After a fork (a data loader's worker, a subprocess) pages that the adapter uses may be copied away. libfabric aborts
where nothing protects from that, or huge pages make the fork itself fail.

## Fix
FI_EFA_FORK_SAFE=1 with an old kernel (5.15 and later need nothing), FI_EFA_USE_HUGE_PAGE=0 where fork fails for
memory, or data loaders that spawn.

## Source
https://github.com/ofiwg/libfabric/blob/main/man/fi_efa.7.md
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("efa.fork_unsafe", also=True)
def fork_unsafe(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on libfabric's own word."""
    seen = events.of("ofi.fork_unsafe")
    if seen:
        yield diagnosis(
            "efa.fork_unsafe",
            "A process forked while its memory was registered for EFA, and libfabric aborted.",
            seen,
            events.of("dataloader.worker_killed"),
            events.of("ofi.provider"),
            repair=Repair.CHANGE_JOB,
            commands=("export FI_EFA_FORK_SAFE=1",),
        )
