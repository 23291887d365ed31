"""The node that was dialled is the one that answers.

## Why it matters
A connection that succeeds proves nothing if somebody else took it: ranks then register in the wrong store, or talk to
a job that is not theirs.

## Usual causes
- a name that resolves to another node
- two nodes with one address, or a stale neighbour entry
- another program that listens on the port

## Fix
Compare the name's address with the node's own, and look for a second owner of the address (`ip neigh`).

## Source
https://www.rfc-editor.org/rfc/rfc5227
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.checks.network.pairs import need_pairs
from gonogo.facts.ports import Ports
from gonogo.kernel import check
from gonogo.model import Finding, Status, link


@check("NET004")
def right_peer_answers(ports: Ports) -> Iterator[Finding]:
    """One finding for each ordered pair, over the connections that were answered at all."""
    need_pairs(ports)
    for source, target in ports.pairs():
        answered = [p for p in ports.probes(source, target) if p.outcome in ("connected", "stranger")]
        strangers = [p for p in answered if p.outcome == "stranger" or (p.answered_by and p.answered_by != target)]
        right = len(answered) - len(strangers)
        others = ", ".join(dict.fromkeys(p.answered_by or "another program" for p in strangers))
        subject = link(source, target)
        if not answered:
            yield Finding(
                Status.SKIP, subject, f"Nobody answered when {source} dialled {target}: waits for NET001, NET003."
            )
            continue
        yield Finding(
            Status.FAIL if strangers else Status.OK,
            subject,
            f"{target} itself answered {source} on {right} of {len(answered)} connections"
            f"{f' ({others} on the others)' if strangers else ''}.",
            measured=right,
            expected=len(answered),
            unit="connections",
            evidence=tuple(p.evidence for p in (strangers or answered[:1])),
        )
