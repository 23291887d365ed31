"""Every node has local ports left for its own connections.

## Why it matters
Each outgoing connection takes a port of a range. When the range is used up, connections fail with "Cannot assign
requested address", or torch says that a host name does not resolve.

## Usual causes
- a narrow net.ipv4.ip_local_port_range
- very many connections in TIME_WAIT of another program in the same network namespace

## Fix
`sysctl -w net.ipv4.ip_local_port_range="32768 60999"`, or wider; find what holds them with `ss -tan`.

## Source
https://docs.kernel.org/networking/ip-sysctl.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.limits.room import judge
from gonogo.facts.nodes import Nodes
from gonogo.kernel import check
from gonogo.model import Finding

PORTS_A_PEER = 10


@check("LIM004")
def local_ports(nodes: Nodes) -> Iterator[Finding]:
    """One finding a node; sockets that listen or come from outside count as well, so that it errs on the safe side."""
    need = PORTS_A_PEER * len(nodes)
    yield from judge(nodes, lambda r: r.local_ports, lambda _: need, "local ports", f"a job of {len(nodes)} nodes")
