"""The node's kernel has no Lustre client.

## What is wrong
The file system type is unknown to the kernel: the AMI lacks the module, or it was built for another kernel.

## Fix
An AMI with the client (AL2023: `dnf install lustre-client`), of the running kernel.

## Source
https://docs.aws.amazon.com/fsx/latest/LustreGuide/install-lustre-client.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("storage.lustre_client_missing", also=True)
def lustre_client_missing(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on mount's word."""
    seen = events.of("storage.lustre_module_missing")
    if seen:
        yield diagnosis(
            "storage.lustre_client_missing",
            "The node has no Lustre client for its kernel.",
            seen,
            events.of("storage.mount_failed"),
            repair=Repair.CHANGE_IMAGE,
            commands=("modprobe lustre; uname -r  # on the node",),
        )
