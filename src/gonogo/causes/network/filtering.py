"""What the causes of blocked ports share: one diagnosis out of one blocked set of pairs and ports."""

from __future__ import annotations

from collections.abc import Iterable

from gonogo.causes.commands import addresses, let_in, let_out, see_rules
from gonogo.causes.consequences import bad, waiting
from gonogo.facts.blocked import Blocked
from gonogo.facts.identities import Identities
from gonogo.kernel import Findings
from gonogo.model import Certainty, Diagnosis, Evidence, FindingKey, Repair, link, node

SHOWN = 3  # probes of one kind cited
_SEEN = {"dropped": "get no answer", "rejected": "are refused at once", "unreachable": "find nobody at the address"}


def diagnosis(cause: str, summary: str, found: Blocked, findings: Findings, identities: Identities | None) -> Diagnosis:
    """Established where something shows that the rest of the way is well: another port, or the way back."""
    subjects = tuple(node(n) for n in found.shape.nodes) or tuple(link(a, b) for a, b in found.shape.pairs)
    settled = found.open or len(found.probes) > 1
    return Diagnosis(
        cause=cause,
        certainty=Certainty.ESTABLISHED if settled else Certainty.SUPPORTED,
        summary=summary,
        subjects=subjects,
        evidence=_evidence(found),
        explains=explains(found, findings),
        repair=Repair.CHANGE_NETWORK_RULE,
        commands=_commands(found, identities),
        next_observation=_watch(found, identities),
    )


def counted(found: Blocked, nodes: int) -> str:
    """12 of 12 directions get no answer."""
    return f"{len(found.shape.pairs)} of {nodes * (nodes - 1)} directions {_SEEN[found.how]}"


def _evidence(found: Blocked) -> tuple[Evidence, ...]:
    shown = [*found.probes[:SHOWN], *found.open[:1]]
    return tuple(p.evidence for p in shown)


def explains(found: Blocked, findings: Findings) -> tuple[FindingKey, ...]:
    """What these ports' being blocked accounts for: their own findings, and what could not run without them."""
    pairs = {link(a, b) for a, b in found.shape.pairs}
    both = pairs | {link(b, a) for a, b in found.shape.pairs}
    direct = bad(findings, *_checks(found), about=pairs)
    of_links = bad(findings, "LNK001", "LNK002", "LNK003", about=both)
    names = found.shape.nodes or tuple(found.shape.involved)
    return tuple(dict.fromkeys((*direct, *of_links, *waiting(findings, names))))


def _checks(found: Blocked) -> Iterable[str]:
    roles = {p.role for p in found.probes}
    return [check for check, of in (("NET001", {"rendezvous"}), ("NET002", {"agent", "probe"})) if roles & of]


def _commands(found: Blocked, identities: Identities | None) -> tuple[str, ...]:
    """At the end that is at fault; only the rendezvous has one port, what is meant for all others is any TCP."""
    one = found.shape.nodes if found.shape.kind != "all" else ()
    names = one or tuple(sorted({p.target for p in found.probes}))
    peers = sorted(found.shape.involved - set(one))
    port = found.ports[0] if {p.role for p in found.probes} == {"rendezvous"} else None
    mend = let_out if found.shape.kind == "out of" else let_in
    if identities and identities.in_pods:  # their addresses are gone, and nodes forward what pods send
        return see_rules(names)
    return (*see_rules(names), *mend(names, port, addresses(identities, peers)))


def _watch(found: Blocked, identities: Identities | None) -> str:
    probe = found.probes[0]
    pod = next((i.pod for i in identities.nodes if i.name == probe.target), "") if identities else ""
    where = f"{probe.target}{f' (there was {pod})' if pod else ''}"
    return (
        f"Run `tcpdump -ni any tcp port {probe.port}` on {where} while {probe.source} connects: "
        "packets that arrive are stopped by the node's own firewall, none mean a rule on the way."
    )
