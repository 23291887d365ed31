"""A node has too few local ports for its connections.

## What is wrong
Each outgoing connection takes a port of net.ipv4.ip_local_port_range. When none is left, connections fail with
"Cannot assign requested address", or the framework says that the host's name does not resolve.

## Fix
Widen the range, or end what holds the ports (`ss -tan state time-wait | wc -l`).

## Source
https://docs.kernel.org/networking/ip-sysctl.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.limits.short import short
from gonogo.facts.nodes import Nodes
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("limits.local_ports_too_few")
def local_ports_too_few(findings: Findings, nodes: Nodes) -> Iterator[Diagnosis]:
    """Fires on LIM004; connections that could not be opened follow from it."""
    yield from short(
        "limits.local_ports_too_few", "LIM004", findings, nodes, what="Too few local ports are left",
        commands=lambda _: ("ss -s", 'sysctl -w net.ipv4.ip_local_port_range="32768 60999"'),
        repair=Repair.CHANGE_NETWORK_CONFIG, links=True,
        watch="Who set the range: sysctl.d on the node, or the pod's securityContext.sysctls.",
    )  # fmt: skip
