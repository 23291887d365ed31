"""The table of tracked connections of a node is full.

## What is wrong
A firewall with state drops the connections that it can't remember. What runs goes on; new connections time out at
random, and nothing says so but the kernel's log.

## Fix
Raise net.netfilter.nf_conntrack_max, or leave traffic between the nodes untracked.

## Source
https://docs.kernel.org/networking/nf_conntrack-sysctl.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.limits.short import short
from gonogo.facts.nodes import Nodes
from gonogo.kernel import Findings, cause
from gonogo.model import Diagnosis, Repair


@cause("limits.conntrack_full", refines=("network.connections_limited", "network.port_blocked"))
def conntrack_full(findings: Findings, nodes: Nodes) -> Iterator[Diagnosis]:
    """Fires on LIM005; connections to the node that are dropped follow from it."""
    yield from short(
        "limits.conntrack_full", "LIM005", findings, nodes, what="The table of tracked connections is full",
        commands=lambda _: ("dmesg | grep 'table full'; sysctl -w net.netfilter.nf_conntrack_max=1048576",),
        repair=Repair.CHANGE_NETWORK_CONFIG, links=True,
        watch="What fills it: `conntrack -L | awk '{print $5}' | sort | uniq -c | sort -n | tail`.",
    )  # fmt: skip
