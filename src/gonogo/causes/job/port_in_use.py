"""A port that the job needs is taken on a node.

## What is wrong
Another process listens there: often one that an earlier job left behind. Rank 0 then fails to bind, or ranks meet in
a store that is not theirs.

## Fix
Find and end the process that has the port, or give the job another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gonogo.causes.commands import on
from gonogo.causes.consequences import bad, waiting
from gonogo.facts.ports import Listener, Ports
from gonogo.kernel import Findings, cause
from gonogo.model import Certainty, Diagnosis, FindingKey, Repair, link, node

_IN_USE = re.compile(r"address already in use|errno 98|EADDRINUSE", re.IGNORECASE)


@cause("job.port_in_use")
def port_in_use(findings: Findings, ports: Ports) -> Iterator[Diagnosis]:
    """One diagnosis a node."""
    for subject, told in ports.present.items():
        taken = [x for x in told.listeners if not x.ok and _IN_USE.search(x.error)]
        if not taken:
            continue
        listed = ", ".join(str(x.port) for x in taken)
        roles = ", ".join(dict.fromkeys(x.role for x in taken))
        yield Diagnosis(
            cause="job.port_in_use",
            certainty=Certainty.ESTABLISHED,
            summary=f"On {subject.name} another process has port {listed} ({roles}): binding it fails.",
            subjects=(subject,),
            evidence=tuple(x.record.evidence(f"{subject.name} listens on {x.port}: {x.error}") for x in taken),
            explains=_explains(findings, ports, subject.name, taken),
            repair=Repair.RESTART_PROCESS,
            commands=tuple(on(subject.name, f"ss -ltnp 'sport = :{x.port}'") for x in taken),
            next_observation=f"Which process it is: `ss -ltnp` on {subject.name} names it.",
        )


def _explains(findings: Findings, ports: Ports, name: str, taken: list[Listener]) -> tuple[FindingKey, ...]:
    links = {link(source, name) for source in ports.names}
    checks = ["NET004", "NET001"] if any(x.role == "rendezvous" for x in taken) else ["NET004"]
    checks += ["NET002"] if any(x.role != "rendezvous" for x in taken) else []
    direct = bad(findings, "NET006", about={node(name)})
    return tuple(dict.fromkeys((*direct, *bad(findings, *checks, about=links), *waiting(findings, {name}))))
