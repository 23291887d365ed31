"""The name of rank 0 leads to another machine.

## What is wrong
MASTER_ADDR resolves, but not to the node that runs rank 0: ranks dial a node where nobody holds the store, or another
job's.

## Fix
Correct the record or the line in /etc/hosts, or set MASTER_ADDR to rank 0's own address.
"""

from __future__ import annotations

from collections.abc import Iterator

from gonogo.causes.commands import MOST, MOST_NODES, and_others, on
from gonogo.causes.consequences import bad, waiting
from gonogo.facts.identities import Identities
from gonogo.facts.names import misleads, owner, spell
from gonogo.facts.ports import Ports, Probe, Resolution
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, Evidence, FindingKey, Repair, link, node


@cause("job.master_addr_wrong")
def master_addr_wrong(findings: Findings, ports: Ports, identities: Identities) -> Iterator[Diagnosis]:
    """At most one diagnosis: the nodes on which rank 0's name leads elsewhere, by the resolver or by who answers."""
    first = identities.first
    asked = [r for told in ports.present.values() for r in told.resolutions if r.peer == first and r.source != first]
    wrong = [r for r in asked if misleads(r, ports, identities)]
    if not wrong:
        return
    strangers = [p for r in wrong for p in ports.probes(r.source, first) if p.outcome == "stranger"]
    identity = identities.of(first)
    own = identity.addresses[0] if identity else ""
    other = owner(wrong[0], identities)
    whose = f"{other}'s address" if other else "no node's address"
    yield Diagnosis(
        cause="job.master_addr_wrong",
        certainty=Certainty.ESTABLISHED,
        summary=f"The name of rank 0, {wrong[0].name}, resolves to {spell(wrong[0])} ({whose}) instead of {own} "
        f"on {len(wrong)} of {len(asked)} peers: {and_others(r.source for r in wrong)}.",
        subjects=tuple(node(r.source) for r in wrong),
        evidence=(*_evidence(wrong, strangers), *_own(identities, ports, own)),
        explains=_explains(findings, wrong, first),
        repair=Repair.CHANGE_JOB,
        commands=(
            *(on(r.source, f"getent ahostsv4 {r.name}") for r in wrong[:MOST_NODES]),
            f"export MASTER_ADDR={own}  # in every rank, until the name is right",
        ),
        next_observation=f"Where {spell(wrong[0])} comes from: /etc/hosts or the DNS on {wrong[0].source}.",
    )


def _evidence(wrong: list[Resolution], strangers: list[Probe]) -> Iterator[Evidence]:
    for r in wrong[:MOST]:
        yield r.record.evidence(f"on {r.source}, {r.name} resolves to {spell(r)}")
    yield from (p.evidence for p in strangers[:MOST])


def _own(identities: Identities, ports: Ports, own: str) -> Iterator[Evidence]:
    """Rank 0's own word on its address."""
    told = ports.present.get(node(identities.first))
    for probe in told.itself[:1] if told else ():
        yield probe.record.evidence(f"{identities.first}'s own address is {own}")


def _explains(findings: Findings, wrong: list[Resolution], first: str) -> tuple[FindingKey, ...]:
    sources = [r.source for r in wrong]
    links = {link(source, first) for source in sources}
    direct = bad(findings, "NET003", about={node(s) for s in sources})
    of_links = bad(findings, "NET001", "NET002", "NET004", "NET005", about=links)
    return tuple(dict.fromkeys((*direct, *of_links, *waiting(findings, {*sources, first}))))
