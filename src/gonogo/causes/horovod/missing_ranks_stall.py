"""Some ranks never submit a tensor.

## What is wrong
Ranks wait in a collective that others have not called: those hang, died, or are busy with something else.

## Fix
The named ranks' own logs, and py-spy on them.

## Source
https://horovod.readthedocs.io/en/stable/troubleshooting_include.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair, Subject


@cause("horovod.missing_ranks_stall", also=True)
def missing_ranks_stall(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the stall inspector's word, which names the ranks."""
    stalls = events.of("horovod.stall")
    named = events.of("horovod.waiting_tensors")
    if stalls and not named:  # tensors of the program's own names
        named = Events(tuple(e for e in events.of("horovod.missing_rank") if e.file in stalls.files))
    lists = Events((*named, *events.of("horovod.missing_list")))
    if lists and (stalls or events.of("horovod.missing_list")):
        ranks = sorted({str(e["rank"]) for e in named} | set(lists.values("missing")))
        yield diagnosis(
            "horovod.missing_ranks_stall",
            f"Ranks {', '.join(ranks)} do not submit what the others wait for.",
            lists,
            stalls,
            repair=Repair.INSPECT,
            subjects=[Subject("rank", r) for r in ranks],
            commands=("py-spy dump --pid <pid>  # on the named ranks",),
        )
