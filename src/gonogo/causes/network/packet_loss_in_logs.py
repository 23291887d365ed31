"""A link loses packets.

## What is wrong
Part of the packets is lost: TCP sends them again after 200 ms and more, collectives crawl or time out.

## Fix
Find the link or node (its interface counters), and take it out.

## Source
https://man7.org/linux/man-pages/man8/ping.8.html
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import waiting
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("network.packet_loss", also=True)
def packet_loss_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on pings that were lost in part, and not on all or none."""
    lossy = Events(tuple(e for e in events.of("host.ping_loss") if 0 < float(e["loss"]) < 100 and int(e["sent"]) >= 20))
    datagrams = [e for e in events.of("host.datagram_loss") if 1 <= float(e["loss"]) < 100 and int(e["sent"]) >= 100]
    lossy = Events((*lossy, *_at_the_end(events), *datagrams))
    if lossy:
        worst = max(float(e["loss"]) for e in lossy)
        yield diagnosis(
            "network.packet_loss",
            f"{worst:g} % of the packets of one ping are lost.",
            lossy,
            events.of("network.retransmits"),
            waiting(events),
            repair=Repair.INSPECT,
            commands=("ethtool -S <interface> | grep -i -e drop -e err -e exceeded  # on both ends",),
        )


def _at_the_end(events: Events) -> list[Event]:
    """Losses at the last hop of mtr's reports: hops between may just answer few."""
    hops = list(events.of("host.hop_loss"))
    after = [*hops[1:], None]
    last = [
        e for e, x in zip(hops, after, strict=False) if x is None or x.file != e.file or int(x["hop"]) <= int(e["hop"])
    ]
    return [e for e in last if 0 < float(e["loss"]) < 100 and int(e["sent"]) >= 20]
