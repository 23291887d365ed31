"""The rendezvous port is taken.

## What is wrong
Another process listens on it: often one that an earlier job left, or a second job on the same host network.

## Fix
End that process, or another port.

## Source
https://pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("job.port_in_use", refines=("pod.user_code_error",), also=True)
def port_in_use_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on the kernel's word."""
    seen = events.of("net.address_in_use")
    if seen:
        port = next(iter((*seen.values("port"), *seen.values("port_after"))), "")
        yield diagnosis(
            "job.port_in_use",
            f"Port {port or '(unnamed)'} is taken by another process.",
            seen,
            events.of("host.listener"),
            repair=Repair.RESTART_PROCESS,
            commands=(f"ss -ltnp 'sport = :{port or '<port>'}'",),
        )
