"""How a broken path between ranks shows in their logs."""

from __future__ import annotations

import ipaddress
import re

from gonogo.facts.events import Events
from gonogo.facts.objects import Object, Objects

RENDEZVOUS_PORT = 29500
DNS_PORT = 53
MANY_COLLECTIVES = 50
_DROPPED_WORDS = re.compile(r"(?i)timed? ?out|No route to host|unreachable")
_REFUSED_WORDS = re.compile(r"(?i)refused")
_OUTSIDE = re.compile(r"\b[\w-]+\.(?:com|org|net|io|co|ai|dev|cn)\b")
"""A name that no cluster's own records hold."""
_INSIDE = re.compile(r"\.svc\b")
WAITING = (
    "c10d.watchdog_timeout", "c10d.clients_missing", "c10d.store_barrier_timeout", "c10d.store_wait_timeout",
    "c10d.rendezvous_failed", "c10d.monitored_barrier", "gloo.timeout", "horovod.stall",
)  # fmt: skip


def dropped(events: Events) -> Events:
    """Connections that got no answer at all."""
    tries = events.of("c10d.connect_errno", "nccl.connect_failed", "gloo.connect_failed")
    silent = tries.where(error=_DROPPED_WORDS)
    peers = Events(tuple(e for e in tries if "Connect timeout" in e.text and "error" not in e.captures))
    return Events((*events.of("c10d.connect_timeout"), *silent, *peers))


def refused(events: Events) -> Events:
    """Connections that were refused: something answered, and it was no listener."""
    return events.of("c10d.connect_errno", "nccl.connect_failed", "gloo.connect_failed").where(error=_REFUSED_WORDS)


def unanswered(events: Events, objects: Objects) -> Events:
    """Lookups that got no answer from a DNS server that runs: a client says so, or names of every kind fail at once."""
    if not may_answer(objects):
        return Events()
    silent = Events(tuple(e for e in events.of("dns.server_silent") if _DROPPED_WORDS.search(e.text)))
    failed = resolver_fails(events)
    return silent or (failed if any(_INSIDE.search(e.text) for e in failed) else Events())


def resolver_fails(events: Events) -> Events:
    """Failures of the resolver itself, where they are of a name outside of the cluster, too."""
    failed = Events(tuple(e for e in events.of("dns.name_unknown") if "Temporary failure" in e.text))
    return failed if any(_OUTSIDE.search(e.text) for e in failed) else Events()


def may_answer(objects: Objects) -> bool:
    """Whether a pod of the cluster's DNS runs, or none is shown."""
    servers = [p for p in objects.of("Pod") if "coredns" in p.name or "kube-dns" in p.name]
    return not servers or any(_runs(p) for p in servers)


def _runs(pod: Object) -> bool:
    return str(pod.get("status.phase")) == "Running" and not str(pod.get("status.ready", "")).startswith("0/")


def waiting(events: Events) -> Events:
    """Ranks that waited for others until a timeout."""
    return events.of(*WAITING)


def carried_before(events: Events) -> bool:
    """Whether ranks had been through many collectives before one failed: no rule of the path kept them apart then."""
    done = [*events.of("c10d.watchdog_timeout").values("seq"), *events.of("c10d.work_state").values("completed")]
    return any(int(number) >= MANY_COLLECTIVES for number in done)


def asked_port(events: Events) -> int:
    """The port that could not be reached, 29500 where no line tells."""
    return next((int(p) for p in events.values("port") if p.isdigit()), RENDEZVOUS_PORT)


def asked_addresses(events: Events) -> tuple[str, ...]:
    """The IP addresses that could not be reached."""
    return tuple(a for a in events.values("address") if is_address(a))


def is_address(text: str) -> bool:
    """Whether a text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
