"""A checkpoint is incomplete or unreadable.

## What is wrong
A save was interrupted (full disk, killed rank), or ranks read before it was whole.

## Fix
Load the checkpoint before it; save to another name and rename.

## Source
https://pytorch.org/docs/stable/notes/serialization.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("storage.checkpoint_torn", refines=("pod.user_code_error",), also=True)
def checkpoint_torn_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the reader's word."""
    seen = events.of("storage.checkpoint_unreadable")
    if seen:
        yield diagnosis(
            "storage.checkpoint_torn",
            f"A checkpoint can't be read: {seen.first.get('error')}.",
            seen,
            events.of("storage.file_size"),
            repair=Repair.CHANGE_STORAGE,
            commands=("ls -lt <checkpoints>  # sizes that differ from their neighbours'",),
        )
