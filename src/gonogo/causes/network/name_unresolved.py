"""A node's name does not resolve on its peers.

## What is wrong
Peers that dial the node by its name get an error of the resolver. Rank 0's name is a fault of its own
(job.rendezvous_dns_not_ready): this one is about the names of the others, which frameworks need later or not at all.

## Fix
Give the name to the nodes that lack it: by the headless service's DNS, or a line in /etc/hosts.
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.naming import unresolved_names
from gonogo.facts.identities import Identities
from gonogo.facts.ports import Ports
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis


@cause("network.name_unresolved")
def name_unresolved(findings: Findings, ports: Ports, identities: Identities) -> Iterator[Diagnosis]:
    """One diagnosis for each name but rank 0's."""
    for name in ports.names:
        if name != identities.first:
            yield from unresolved_names("network.name_unresolved", name, f"name of {name}", findings, ports, identities)
