"""Names collide, so ranks reach the wrong peer.

## What is wrong
Two hosts have the same name, or each resolves the master's name to itself: every rank looks for the rendezvous at home.

## Fix
A name for each host, and the master's address (not its name) in MASTER_ADDR until then.

## Source
https://man7.org/linux/man-pages/man5/hosts.5.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import dropped, refused, waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause(
    "network.duplicate_hostname", refines=("job.master_addr_wrong", "job.rendezvous_timeout_missing_ranks"), also=True
)
def duplicate_hostname_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where the name that ranks meet at is loopback on more than one host."""
    loops = events.of("host.name_is_loopback")
    asked = events.of("env.master_addr", "c10d.connect_timeout", "c10d.connect_errno")
    names = [n for n in asked.values("address") if n in loops.values("name") and n != "localhost"]
    failed = Events((*dropped(events), *refused(events), *waiting(events)))
    if names and failed and events.counts.get("host.name_is_loopback", 0) > 1:
        yield diagnosis(
            "network.duplicate_hostname",
            f"{names[0]} is the name of more than one host, and leads each to itself.",
            Events(tuple(e for e in loops if e.get("name") == names[0])),
            failed,
            Events(tuple(e for e in asked if e.get("address") == names[0])),
            repair=Repair.CHANGE_NETWORK_CONFIG,
            commands=("hostnamectl set-hostname <name>  # a different one on each host", f"getent ahostsv4 {names[0]}"),
        )
