"""Every node can listen on the ports that rendezvous and collectives use.

## Why it matters
A rendezvous port that is taken ends the job on rank 0 with "address already in use", or lets ranks meet in another
job's store.

## Usual causes
- a process of an earlier job that still runs
- two jobs on one host network with the same MASTER_PORT

## Fix
Find the owner with `ss -ltnp`, end it, or choose another port for the job.

## Source
https://man7.org/linux/man-pages/man2/bind.2.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.ports import Ports
from gonogo.kernel import check
from gonogo.model import Finding, Status


@check("NET006")
def ports_free(ports: Ports) -> Iterator[Finding]:
    """One finding a node."""
    for subject, told in ports.present.items():
        taken = [x for x in told.listeners if not x.ok]
        free, tried = len(told.listeners) - len(taken), len(told.listeners)
        details = "; ".join(f"{x.port}: {x.error or 'no reason told'}" for x in taken)
        status = Status.FAIL if taken else Status.OK if tried else Status.UNKNOWN
        yield Finding(
            status,
            subject,
            f"{subject.name} listens on {free} of {tried} ports{f' ({details})' if taken else ''}.",
            measured=free,
            expected=tried,
            unit="ports",
            evidence=tuple(
                x.record.evidence(f"{subject.name} listens on {x.port}: {x.error or 'ok'}")
                for x in taken or told.listeners[:1]
            ),
        )
