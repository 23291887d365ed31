"""What has no space left: the kernel says ENOSPC of file systems, of shared memory, and of its own tables."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gonogo.facts.events import Event, Events

_SHARED_MEMORY = re.compile(r"/dev/shm|\bshm_open|[Ss]em[Ll]ock|torch_shm|/torch_\d+_|psm_[0-9a-f]{8}|shared memory")
_CODE_OF_SHARED_MEMORY = re.compile(
    r"multiprocessing/(?:synchronize|shared_memory|heap|sharedctypes)\.py|torch/(?:multiprocessing/|storage\.py)"
)
"""Where the innermost frame of a traceback is, when a semaphore, a queue or a shared tensor found no room."""
_PATH = re.compile(r"[ '\"=:(](/[\w.-]+(?:/[\w.@+-]+)+)")


@dataclass(frozen=True, slots=True)
class Shortage:
    """Lines that say ENOSPC, by what they are of, as far as a line, its traceback or df tells."""

    shared_memory: Events
    file_systems: Events


def shortage(events: Events) -> Shortage:
    """Every line that says so is of one of both."""
    told = events.of("storage.no_space")
    frames = {(e.file, e.line): e.get("frame") for e in events.of("python.exception")}
    only_shm = bool(events.of("host.shm_size").where(use="100")) and not events.of("host.disk_full")

    def of_shared_memory(e: Event) -> bool:
        if _SHARED_MEMORY.search(e.text) or _CODE_OF_SHARED_MEMORY.search(frames.get((e.file, e.line), "")):
            return True
        return only_shm and not _PATH.search(e.text)

    shared = Events(tuple(e for e in told if of_shared_memory(e)))
    nccl = events.of("nccl.shm_full")
    return Shortage(Events((*nccl, *shared)), told.outside(nccl).outside(shared))
