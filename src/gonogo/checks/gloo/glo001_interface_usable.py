"""The interface that Gloo will use exists on every node, is up, and is not the loopback.

## Why it matters
Gloo tells its peers one address to dial. Where that is the loopback's, or the interface is missing, ranks fail while
they build their mesh or dial themselves, long after the rendezvous has passed.

## Usual causes
- GLOO_SOCKET_IFNAME names an interface of another machine type (eth0 where it is ens5)
- several interfaces or NCCL's syntax (^lo) where Gloo wants one name
- without it: a host name that resolves to 127.0.1.1

## Fix
Set GLOO_SOCKET_IFNAME to the interface with the node's own address, or unset it where host names resolve to it.

## Source
https://pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.facts.gloo import Choice, choice
from gonogo.facts.identities import Identities
from gonogo.facts.nodes import Nodes
from gonogo.kernel import Skip, check
from gonogo.model import Finding, Status
from gonogo.plan import Plan


@check("GLO001")
def interface_usable(nodes: Nodes, plan: Plan, identities: Identities) -> Iterator[Finding]:
    """One finding a node."""
    if plan.job.backend != "gloo":
        raise Skip(f"The plan's backend is {plan.job.backend}.")
    for subject, info in nodes.present.items():
        chosen: Choice = choice(info, plan, identities)
        evidence = (info.record.evidence(f"interfaces of {info.name}: {_spell(info.interfaces)}"),)
        yield Finding(
            Status.OK if chosen.usable else Status.FAIL,
            subject,
            f"Gloo on {info.name} uses {chosen.text}.",
            measured=chosen.address,
            threshold_source=chosen.source,
            evidence=evidence,
        )


def _spell(interfaces: object) -> str:
    return ", ".join(f"{i.name} {i.address}" for i in interfaces if i.address) if isinstance(interfaces, tuple) else ""
