"""Every node reaches every other on the rendezvous port.

## Why it matters
All ranks meet at rank 0's store on this port. Where it is closed, every rank waits until its timeout and then says
only that the client socket has timed out. Any node can be rank 0 in the next job, so all ordered pairs are tried.

## Usual causes
- a security group, network policy or host firewall that lets the port in from too few sources
- a rule that drops (no answer) or rejects (refused at once)
- nothing listens there, or another program does

## Fix
Let TCP in on the port from all nodes. On AWS, a rule of the nodes' security group whose source is the group itself.

## Source
https://pytorch.org/docs/stable/distributed.html#tcp-initialization
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.network.pairs import judge
from gonogo.facts.ports import Ports
from gonogo.kernel import check
from gonogo.model import Finding


@check("NET001")
def rendezvous_port(ports: Ports) -> Iterator[Finding]:
    """One finding for each ordered pair."""
    yield from judge(ports, "rendezvous")
