"""A clock is off.

## What is wrong
Signed requests are valid for five minutes, certificates from a certain second on. A node whose clock is minutes off
gets errors that look like wrong credentials.

## Fix
chrony with 169.254.169.123, a step of the clock (chronyc makestep), then the pods anew.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/set-time.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair

_EXPIRED = re.compile(r"current time \S+ is after ")
"""Of a certificate: most often it is the one that is too old, and not the clock that is wrong."""


@cause("node.clock_skew", refines=("iam.missing_permission", "iam.credentials_expired"), also=True)
def clock_skew_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a request outside its time; chrony's word of a small offset contradicts it."""
    seen = events.of("clock.skewed")
    told = Events(
        tuple(
            e
            for e in events.of("clock.offset")
            if e.get("leap") or e.get("synced") or float(e.captures.get("seconds", 0)) > 1
        )
    )
    expired = seen and all(_EXPIRED.search(e.text) for e in seen) and not told
    if seen:
        seconds = max((float(e["seconds"]) for e in told if "seconds" in e.captures), default=0.0)
        yield diagnosis(
            "node.clock_skew",
            f"A clock is off{f' by {seconds:.0f} seconds' if seconds else ''}: signed requests are out of their time.",
            seen,
            told,
            repair=Repair.RESTART_PROCESS,
            commands=("chronyc makestep; chronyc tracking  # on the node",),
            certainty=Certainty.HYPOTHESIS if expired else None,
            next_observation="Whether the certificate itself is too old: date -u, and its dates by openssl x509 -dates."
            if expired
            else "",
        )
