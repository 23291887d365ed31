"""Nodes, or the path between them, differ in MTU: large packets vanish where small ones pass.

## What is wrong
Connections are made and small messages pass; the first large one hangs or fails. On RDMA, queue pairs with different
MTUs fail their first large transfers.

## What settles it
`ping -M do -s 8972` (or 1472) between the two nodes, and `ip link` on both.

## Fix
One MTU on all nodes and on the path; for RDMA the same on the switches.

## Source
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/network_mtu.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.network.symptoms import carried_before
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Certainty, Diagnosis, Repair


@cause("network.mtu_mismatch", also=True)
def mtu_mismatch_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on different MTUs of one kind of interface, or on a ping that is too long, beside transfers that failed."""
    failed = Events(
        (
            *events.of(
                "nccl.ib_error", "gloo.timeout", "nccl.peer_gone", "c10d.watchdog_timeout", "c10d.store_wait_timeout"
            ),
        )
    )
    queues, links = events.of("nccl.ib_mtu"), _uplinks(events)
    long = Events((*events.of("host.ping_too_long"), *_large_lost(events)))
    differing = queues if len(queues.values("mtu")) > 1 and len(queues.files) > 1 else Events()
    if not differing and len(links.values("mtu")) > 1:
        differing = links
    if not failed or not (differing or long):
        return
    if not differing and not events.of("host.ping_loss").where(loss=100.0) and not long.of("host.ping_too_long"):
        return
    values = " and ".join(dict.fromkeys((*differing.values("mtu"), *long.values("mtu"), *long.values("path_mtu"))))
    yield diagnosis(
        "network.mtu_mismatch",
        f"The nodes, or the path between them, have different MTUs ({values or 'large packets are lost'}): "
        "small messages pass and large ones do not.",
        failed,
        queues,
        differing,
        long,
        events.of("host.ping_loss"),
        repair=Repair.CHANGE_NETWORK_CONFIG,
        commands=("ip link set dev <interface> mtu 9001  # on all nodes, and the same on the path",),
        certainty=Certainty.HYPOTHESIS if carried_before(events) and not long else None,
        next_observation="ping -M do -s 8972 PEER and ping -M do -s 1472 PEER, in both directions.",
    )


def _uplinks(events: Events) -> Events:
    """Interfaces of nodes that are up and lead out: not loopback, bridges or the ends of containers' pairs."""
    inner = re.compile(r"^(?:lo|docker|br-|veth|cni|flannel|cali|eni|dummy|pod-id|virbr|tunl|kube)")
    return Events(
        tuple(
            e for e in events.of("host.interface_mtu") if not inner.match(e.get("interface")) and "UP" in e.get("flags")
        )
    )


def _large_lost(events: Events) -> Events:
    """Pings that were lost whole, where others of the same file came through."""
    pings = events.of("host.ping_loss")
    if pings.where(loss=0.0) and pings.where(loss=100.0):
        return pings.where(loss=100.0)
    return Events()
