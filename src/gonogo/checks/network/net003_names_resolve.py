"""Every node resolves the name of every other, to an address of that node.

## Why it matters
MASTER_ADDR is a name more often than not. A rank that can't resolve it, or gets another pod's address, retries until
its timeout and then reports a timeout: the name is not mentioned as the cause.

## Usual causes
- the headless service is missing, or doesn't publish addresses of pods that aren't ready
- the worker starts before the master's pod has its DNS record
- a stale line in /etc/hosts, or a search domain that finds another host

## Fix
Make a headless service with `publishNotReadyAddresses: true` that selects the pods, and let workers wait for the name.

## Source
https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.network.pairs import need_pairs
from gonogo.facts.identities import Identities
from gonogo.facts.names import misleads, owner, spell, unresolved
from gonogo.facts.ports import Ports, Resolution
from gonogo.kernel import check
from gonogo.model import Finding, Status


@check("NET003")
def names_resolve(ports: Ports, identities: Identities) -> Iterator[Finding]:
    """One finding a node, over all names that it asked for."""
    need_pairs(ports)
    for subject, told in ports.present.items():
        asked = {r.peer: r for r in told.resolutions if r.peer != subject.name}
        wrong = {peer: text for peer, r in asked.items() if (text := _wrong_with(r, ports, identities))}
        missing = [name for name in ports.names if name not in asked and name != subject.name]
        good = len(asked) - len(wrong)
        details = [f"{peer}: {text}" for peer, text in wrong.items()] + [f"{name}: not asked for" for name in missing]
        status = Status.FAIL if wrong else Status.UNKNOWN if missing else Status.OK
        shown = [asked[peer] for peer in wrong] or list(asked.values())[:1]
        yield Finding(
            status,
            subject,
            f"{subject.name} resolves {good} of {len(ports) - 1} names of peers{_in_brackets(details)}.",
            measured=good,
            expected=len(ports) - 1,
            unit="names",
            evidence=tuple(r.record.evidence(f"{r.source} asks for {r.name}: {spell(r)}") for r in shown),
        )


def _in_brackets(details: list[str]) -> str:
    return f" ({'; '.join(details)})" if details else ""


def _wrong_with(asked: Resolution, ports: Ports, identities: Identities) -> str:
    """Why this name does not lead to its node, or ""."""
    if unresolved(asked):
        return spell(asked)
    if not misleads(asked, ports, identities):
        return ""
    other, identity = owner(asked, identities), identities.of(asked.peer)
    whose = f"which is {other}'s" if other else "which is no node's"
    return f"{spell(asked)}, {whose}, not {identity.addresses[0] if identity else 'its own'}"
