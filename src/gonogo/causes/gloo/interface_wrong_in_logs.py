"""Gloo was given, or chose, an interface that can't work.

## What is wrong
Gloo tells its peers the address of GLOO_SOCKET_IFNAME, or of the host's own name. An interface that doesn't exist,
NCCL's list syntax (`^lo,docker`), or a name that resolves to loopback leaves the peers with an address of their
own.

## Fix
GLOO_SOCKET_IFNAME=the node's interface, one name; a host name that resolves to the node's address.

## Source
https://pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair

_LOOPBACK = re.compile(r"(?<![\d.])(?:127\.\d+\.\d+\.\d+|::1)\]?[:\]]")

_INNER = re.compile(r"^(?:lo|docker\d*|br-\w+|virbr\d*|veth\w*|cni\d+|podman\d+|\^.*)$")
"""Interfaces that lead nowhere but to the host itself, and NCCL's syntax, which Gloo does not know."""


@cause("gloo.interface_wrong", refines=("network.port_blocked", "pod.user_code_error"), also=True)
def interface_wrong_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires where an interface isn't there, or a rank was told a loopback address."""
    absent = events.of("gloo.no_interface")
    if off_route := _off_route(events):
        yield off_route
        return
    failed = events.of("gloo.connect_failed")
    loop = Events(tuple(e for e in failed if _LOOPBACK.search(e.text))) or _by_name(events, failed)
    if not absent and not loop:
        if failed and (inner := events.of("env.gloo_interface").where(value=_INNER)):
            loop = Events((*failed, *inner))
        else:
            return
    name = next(iter((*absent.values("interface"), *events.of("env.gloo_interface").values("value"))), "")
    address = next((v for v in (*loop.values("address"), *loop.values("remote")) if v), "127.0.0.1")
    yield diagnosis(
        "gloo.interface_wrong",
        f"Gloo finds no address for the interface {name}."
        if absent
        else f"A rank told its peers an address that only its own host can reach: {address}.",
        absent,
        loop,
        events.of("env.gloo_interface"),
        events.of("gloo.loopback_fallback", "host.name_is_loopback"),
        events.of("host.interface_address"),
        repair=Repair.CHANGE_JOB,
        commands=(
            "ip -o -4 addr  # in a pod: which interface has the node's address",
            "export GLOO_SOCKET_IFNAME=<interface>",
        ),
    )


def _by_name(events: Events, failed: Events) -> Events:
    """The ranks that reach nobody and don't say whom, where a host's own name leads to loopback."""
    told = any(e.get(k) for e in failed for k in ("address", "remote", "peer"))
    fallen = events.of("gloo.loopback_fallback", "host.name_is_loopback")
    return Events() if told or not fallen or events.of("env.gloo_interface") else failed


def _off_route(events: Events) -> Diagnosis | None:
    """Where Gloo speaks from an interface that is not the one with the default route, and reaches nobody."""
    failed = events.of("gloo.connect_failed")
    routes = events.of("host.default_route")
    told = [e.get("local") for e in (*failed, *events.of("gloo.local_address")) if e.get("local")]
    bound = [e for e in events.of("host.interface_address") if e.get("address") in told]
    wrong = [e for e in bound if routes and e.get("interface") not in routes.values("interface")]
    if not failed or not wrong:
        return None
    first: Event = wrong[0]
    best = routes.first.get("interface")
    return diagnosis(
        "gloo.interface_wrong",
        f"Gloo uses {first.get('interface')} ({first.get('address')}), from which no peer can be reached; the default "
        f"route leads over {best}.",
        failed,
        Events(tuple(wrong)),
        events.of("gloo.local_address"),
        routes,
        repair=Repair.CHANGE_JOB,
        commands=(f"export GLOO_SOCKET_IFNAME={best}",),
    )
