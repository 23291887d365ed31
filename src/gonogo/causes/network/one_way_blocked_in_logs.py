"""New connections are blocked in one direction only.

## What is wrong
A host firewall accepts only what belongs to connections that it knows. The node can connect to the others, and they
can't connect to it.

## Fix
Let new connections from the other nodes in.

## Source
https://wiki.nftables.org/wiki-nftables/index.php/Matching_connection_tracking_stateful_metainformation
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.network.symptoms import dropped
from gonogo.causes.proof import diagnosis
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.kernel import cause
from gonogo.model import Diagnosis, Repair


@cause("network.one_way_blocked", refines=("network.port_blocked",), also=True)
def one_way_blocked_in_logs(events: Events, objects: Objects) -> Iterator[Diagnosis]:
    """Fires on a firewall that drops what is new and accepts what is established, beside connections that time out."""
    if apart := _by_hand(events):
        good, lost = apart
        yield diagnosis(
            "network.one_way_blocked",
            f"{good.get('address') or good.get('joined')} can be reached and {lost.get('tried')} can't, on port "
            f"{lost.get('tried_port')}: connections are dropped in one direction.",
            Events((lost,)),
            Events((good,)),
            dropped(events),
            repair=Repair.CHANGE_NETWORK_RULE,
            commands=("iptables -S; nft list ruleset  # on both nodes",),
        )
        return
    policy = Events(tuple(e for e in events.of("host.firewall_rule") if "policy drop" in e.text))
    known = events.of("host.firewall_established")
    silent = dropped(events)
    one_way = events.of("host.matrix_row", "nccl.rank_init", "host.reachability")
    if policy and known and silent and one_way and set(policy.files) & set(known.files):
        yield diagnosis(
            "network.one_way_blocked",
            "A firewall drops new connections into a node and accepts the replies to its own.",
            silent,
            policy,
            known,
            events.of("host.matrix_row"),
            repair=Repair.CHANGE_NETWORK_RULE,
            commands=("nft add rule inet filter input ip saddr <node-addresses> accept",),
        )


def _by_hand(events: Events) -> tuple[Event, Event] | None:
    """Of two nodes that were tried on one port, the one that answers and the one that is silent."""
    probes = events.of("host.probe")
    good = {e.get("address") or e.get("joined"): e for e in probes if e.get("address") or e.get("joined")}
    silent = {e.get("tried"): e for e in probes if "timed out" in e.get("failure")}
    refused = [e for e in probes if e.get("failure") and "timed out" not in e.get("failure")]
    if len(good) != 1 or len(silent) != 1 or refused or set(good) & set(silent):
        return None
    (one,), (other,) = good.values(), silent.values()
    answered = {e.get("port") or e.get("joined_port") for e in probes}
    tried = {e.get("tried_port") for e in probes if e.get("failure")}
    return (one, other) if answered & tried and dropped(events) else None
