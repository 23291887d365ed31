"""NCCL_SOCKET_IFNAME leaves no interface.

## What is wrong
The name or pattern fits no interface of the pod or node: `eth0` on a host whose interfaces are called ens5, or a
list of exclusions that takes in all.

## Fix
A prefix that fits (`en,eth`), or unset the variable.

## Source
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("nccl.socket_ifname_excludes_all", also=True)
def socket_ifname_excludes_all(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on NCCL's own word."""
    none = events.of("nccl.no_interface")
    if none:
        asked = events.of("nccl.socket_ifname")
        value = next(iter(asked.values("value")), "")
        yield diagnosis(
            "nccl.socket_ifname_excludes_all",
            f"NCCL finds no interface{f': NCCL_SOCKET_IFNAME={value} fits none' if value else ''}.",
            none,
            asked,
            events.of("host.interface_address"),
            events.of("host.interface_mtu"),
            repair=Repair.CHANGE_JOB,
            commands=("ip -o -4 addr  # in a pod: the interface with the node's address is for NCCL_SOCKET_IFNAME",),
        )
