"""Two machines claim one address.

## What is wrong
Packets for the address go now to one, now to the other: connections break at random, or reach a stranger.

## Fix
Give one of them another address, and flush the neighbours' entries.

## Source
https://www.rfc-editor.org/rfc/rfc5227
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import dropped
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("network.address_conflict", also=True)
def address_conflict_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a kernel's or daemon's word of a duplicate, or where one address has two hardware addresses."""
    told = events.of("network.duplicate_address")
    macs: dict[str, dict[str, Event]] = {}
    for e in events.of("host.neighbour"):
        address, mac = e.get("address") or e.get("replied"), (e.get("mac") or e.get("reply_mac")).lower()
        macs.setdefault(address, {}).setdefault(mac, e)
    twice = {a: found for a, found in macs.items() if len(found) > 1}
    if told or twice:
        address = next(iter((*twice, *told.values("address"))), "an address")
        yield diagnosis(
            "network.address_conflict",
            f"Two machines use {address}.",
            told,
            Events(
                tuple(
                    e for e in events.of("host.neighbour") if e.get("address") == address or e.get("replied") == address
                )
            ),
            dropped(events),
            events.of("gloo.peer_gone", "nccl.peer_gone"),
            repair=Repair.CHANGE_NETWORK_CONFIG,
            commands=(f"arping -D -c 3 -I <interface> {address}", "ip neigh flush all"),
        )
