"""Every node reaches every other on the ports that collectives use.

## Why it matters
After the rendezvous, ranks connect to each other on ports that the kernel hands out. Where only the rendezvous port
is open, all ranks join and then hang while they build their mesh: with the default timeout, for hours.

## Usual causes
- a security group or firewall that opens the rendezvous port alone
- a limit on connections between two nodes, which shows only while many are open at once
- new connections are dropped in one direction

## Fix
Let all TCP (and for EFA all traffic) through between the nodes, in both directions.

## Source
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#networking-issues
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.network.pairs import judge
from gonogo.facts.ports import Ports
from gonogo.kernel import check
from gonogo.model import Finding


@check("NET002")
def data_ports(ports: Ports) -> Iterator[Finding]:
    """One finding for each ordered pair; the agents' own port and the probe ports stand for ephemeral ones."""
    yield from judge(ports, "agent", "probe")
