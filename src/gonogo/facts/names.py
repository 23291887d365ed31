"""Whether a name leads to the node that it stands for."""

from __future__ import annotations

from gonogo.facts.identities import Identities
from gonogo.facts.ports import Ports, Resolution


def spell(asked: Resolution) -> str:
    """What the resolver said: the addresses, its error, or that there was none."""
    return ", ".join(asked.addresses) or asked.error or "no address"


def unresolved(asked: Resolution) -> bool:
    """Whether no address came."""
    return bool(asked.error) or not asked.addresses


def owner(asked: Resolution, identities: Identities) -> str:
    """The other node whose address came instead, or ""."""
    return next((i.name for a in asked.addresses if (i := identities.at(a)) and i.name != asked.peer), "")


def misleads(asked: Resolution, ports: Ports, identities: Identities) -> bool:
    """Whether addresses came, and none of them leads to the node.

    An address that is nobody's own is right as long as the node itself answers there: a service or a gateway.
    """
    identity = identities.of(asked.peer)
    if unresolved(asked) or not identity or not identity.addresses:
        return False
    if set(asked.addresses) & set(identity.addresses):
        return False
    return not any(p.connected for p in ports.probes(asked.source, asked.peer))
