"""What the causes of names that don't resolve share."""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST, MOST_NODES, addresses, and_others, on
from gonogo.causes.consequences import bad, waiting
from gonogo.facts.identities import Identities
from gonogo.facts.names import spell, unresolved
from gonogo.facts.ports import Ports, Resolution
from gonogo.kernel import Findings
from gonogo.model import Certainty, Diagnosis, Evidence, FindingKey, Repair, link, node


def unresolved_names(
    cause: str, peer: str, what: str, findings: Findings, ports: Ports, identities: Identities
) -> Iterator[Diagnosis]:
    """At most one diagnosis: one node's name, and all the nodes on which it does not resolve."""
    asked = [r for told in ports.present.values() for r in told.resolutions if r.peer == peer]
    failed = [r for r in asked if unresolved(r)]
    if not failed:
        return
    own = addresses(identities, [peer])
    yield Diagnosis(
        cause=cause,
        certainty=Certainty.ESTABLISHED,
        summary=f"The {what} ({failed[0].name}) does not resolve on {len(failed)} of {len(asked)} nodes: "
        f"{and_others(r.source for r in failed)} ({spell(failed[0])}).",
        subjects=tuple(node(r.source) for r in failed),
        evidence=tuple(_evidence(failed, asked, ports)),
        explains=_explains(findings, failed, peer),
        repair=Repair.CHANGE_NETWORK_CONFIG,
        commands=(
            *(on(r.source, f"getent ahostsv4 {r.name}") for r in failed[:MOST_NODES]),
            *(on(r.source, f"echo '{own[0]} {r.name}' >> /etc/hosts") for r in failed[:MOST_NODES] if own),
        ),
        next_observation=f"Whether the record comes late or never: ask for {failed[0].name} again in a minute.",
    )


def _evidence(failed: list[Resolution], asked: list[Resolution], ports: Ports) -> Iterator[Evidence]:
    """The failures, and where the same or another name does resolve: the resolver itself works."""
    for r in failed[:MOST]:
        yield r.record.evidence(f"on {r.source}, {r.name}: {spell(r)}")
    others = [x for told in ports.present.values() for x in told.resolutions if x.source == failed[0].source]
    good = [x for x in (*asked, *others) if not unresolved(x)]
    for r in good[:1]:
        yield r.record.evidence(f"on {r.source}, {r.name} resolves to {spell(r)}")


def _explains(findings: Findings, failed: list[Resolution], peer: str) -> tuple[FindingKey, ...]:
    sources = {r.source for r in failed}
    direct = bad(findings, "NET003", about={node(s) for s in sources})
    links = {link(source, peer) for source in sources}
    itself = bad(findings, "GLO001", about={node(peer)} & {node(s) for s in sources})
    of_links = bad(findings, "NET001", "NET002", "NET004", "NET005", about=links)
    return tuple(dict.fromkeys((*direct, *of_links, *itself, *waiting(findings, {*sources, peer}))))
