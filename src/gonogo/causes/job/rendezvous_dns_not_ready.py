"""The name of rank 0 does not resolve where ranks need it.

## What is wrong
Ranks find the rendezvous by rank 0's name. Where it does not resolve they retry until their timeout, and then report
that a socket has timed out.

## Fix
On Kubernetes: a headless service with `publishNotReadyAddresses: true` whose selector matches the pods, and its name
as the pods' `subdomain`. Elsewhere: a line in /etc/hosts. Workers may also start before the record is there: let them
wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.naming import unresolved_names
from gonogo.facts.identities import Identities
from gonogo.facts.ports import Ports
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis


@cause("job.rendezvous_dns_not_ready")
def rendezvous_dns_not_ready(findings: Findings, ports: Ports, identities: Identities) -> Iterator[Diagnosis]:
    """At most one diagnosis."""
    first = identities.first
    yield from unresolved_names("job.rendezvous_dns_not_ready", first, "name of rank 0", findings, ports, identities)
