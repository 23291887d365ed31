"""Every link carries messages of all sizes.

## Why it matters
Where packets above a size vanish, connections open, small messages pass, and training hangs at its first large
all_reduce. The timeout that follows names neither the link nor the size.

## Usual causes
- an MTU on the nodes that is larger than on the path (9001 over 1500), with ICMP filtered so that nobody is told
- a tunnel or a VPN between the nodes
- a firewall that cuts connections after some bytes

## Fix
Set the path's MTU on the nodes (`ip link set dev eth0 mtu 1500`), or let the path carry the nodes' MTU; let ICMP
"fragmentation needed" through.

## Source
https://www.rfc-editor.org/rfc/rfc2923
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gonogo.facts.links import LinkRun, Links, Message
from gonogo.facts.ranks import spell_bytes
from gonogo.kernel import check
from gonogo.model import Finding, Status, Subject


@check("LNK001")
def large_messages(links: Links) -> Iterator[Finding]:
    """One finding for each direction of each pair that was tried; the kernel adds the lost ones."""
    for subject, run in links.first_look.items():
        yield _judge(subject, run)


def _judge(subject: Subject, run: LinkRun) -> Finding:
    sizes = {m.size_bytes for m in run.messages}
    carried = {m.size_bytes for m in run.messages if m.ok}
    lost = [m for m in run.messages if m.size_bytes not in carried]
    name = f"{subject.name} -> {subject.to}"
    if not sizes:
        error = run.errors[0] if run.errors else None
        if error is None:
            return Finding(Status.UNKNOWN, subject, f"{name} was not tried with messages.")
        message = f"{name} carries nothing: {error.outcome or error.error}."
        return Finding(Status.FAIL, subject, message, 0, evidence=(error.record.evidence(f"{name}: {error.error}"),))
    reach = f"up to {spell_bytes(max(sizes))}" if not lost else f"not {spell_sizes(lost)}"
    return Finding(
        Status.FAIL if lost else Status.OK,
        subject,
        f"{name} carries {len(carried)} of {len(sizes)} message sizes, {reach}.",
        measured=max(carried, default=0),
        expected=max(sizes),
        unit="bytes",
        evidence=tuple(m.evidence for m in (lost or run.messages[-1:])),
    )


def spell_sizes(messages: Iterable[Message]) -> str:
    """8000 bytes, 64 KiB."""
    return ", ".join(spell_bytes(size) for size in sorted({m.size_bytes for m in messages}))
