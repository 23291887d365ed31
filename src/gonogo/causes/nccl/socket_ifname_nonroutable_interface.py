"""NCCL uses an interface that its peers can't reach.

## What is wrong
Left to itself, or with a pattern that excludes too little, NCCL takes a bridge, a container's interface or a link-local
address and tells it to the others. They connect to nothing, or to themselves.

## What settles it
The address in `Bootstrap : Using` (or `NET/Socket : Using`) is not in the network that the other nodes are in.

## Fix
Name the node's interface: NCCL_SOCKET_IFNAME=ens5 (and GLOO_SOCKET_IFNAME).

## Source
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_INNER = re.compile(r"^(?:docker|br-|veth|virbr|cni|flannel|cali|eni|pod-id|lxc|dummy|tun|wg|tailscale)")
_LISTED = re.compile(r"\[\d+\](?P<interface>[\w.@-]+):(?P<address>[\da-fA-F.:]+?)(?:%\w+)?<")


@cause("nccl.socket_ifname_nonroutable_interface", refines=("network.port_blocked",), also=True)
def socket_ifname_nonroutable_interface(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on an address that is link-local or a bridge's, or is outside of what the other ranks use."""
    chosen = [(e, e.get("interface"), e.get("address")) for e in events.of("nccl.bootstrap_interface")]
    listed = [
        (e, m["interface"], m["address"]) for e in events.of("nccl.socket_interfaces") for m in _LISTED.finditer(e.text)
    ]
    failed = Events((*events.of("nccl.connect_failed"), *waiting(events)))
    targets = set(events.of("nccl.connect_failed").values("address"))
    finished = {e.file for e in events.of("nccl.rank_init") if e.get("state") == "COMPLETE"}
    everyone = [a for _, i, a in chosen if not _INNER.match(i) and not a.startswith(("169.254.", "127."))]
    for event, interface, address in (*chosen, *listed):
        odd = _INNER.match(interface) or address.startswith("169.254.")
        elsewhere = everyone and not any(_near(address, a) for a in everyone)
        blamed = address in targets
        if odd and (
            blamed or (elsewhere and event.file not in finished and event.signature == "nccl.bootstrap_interface")
        ):
            seen = Events(tuple(e for e in (*failed.of("nccl.connect_failed").where(address=address),)))
            own = Events(tuple(e for e in events.of("host.interface_address") if e.file.split("/")[0]))
            yield diagnosis(
                "nccl.socket_ifname_nonroutable_interface",
                f"NCCL uses {interface} ({address}), which the other ranks can't reach.",
                Events((event,)),
                seen or failed,
                events.of("nccl.socket_ifname"),
                _routable(own),
                repair=Repair.CHANGE_JOB,
                commands=(f"export NCCL_SOCKET_IFNAME={_proper(own, everyone)}",),
                next_observation=f"ip -o addr on the node: {interface} holds {address}.",
            )
            return


def _near(one: str, other: str) -> bool:
    """Whether two addresses may well be in one network: alike in the first 16 bits."""
    return one.split(".")[:2] == other.split(".")[:2]


def _routable(own: Events) -> Events:
    return Events(
        tuple(
            e
            for e in own
            if not _INNER.match(e.get("interface")) and not e.get("address").startswith(("127.", "169.254."))
        )
    )


def _proper(own: Events, everyone: list[str]) -> str:
    fit = [
        e.get("interface") for e in _routable(own) if not everyone or any(_near(e.get("address"), a) for a in everyone)
    ]
    return fit[0] if fit else "ens5  # the node's own interface"
