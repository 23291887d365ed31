"""What follows from a fault: the findings that a diagnosis may claim to explain."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gonogo.facts.ports import Ports
from gonogo.facts.ranks import home
from gonogo.kernel import PREFIXES, Findings
from gonogo.model import CLUSTER, Finding, FindingKey, Status, Subject

LATER = ("link", "collective", "storage", "train", "job")
"""Areas of what runs only after names and ports are found to work."""

_BAD = (Status.FAIL, Status.UNKNOWN, Status.WARN)


def area(finding: Finding) -> str:
    """The area of the check that a finding is of; "" for what is no check."""
    return PREFIXES.get(finding.check[:3], "")


def bad(findings: Findings, *checks: str, about: Collection[Subject] | None = None) -> tuple[FindingKey, ...]:
    """The keys of what isn't green in these checks, about these subjects, their ranks among them, or about any."""
    found = (f for f in findings if f.status in _BAD and f.check in checks)
    return keys(f for f in found if about is None or f.subject in about or home(f.subject) in about)


def keys(findings: Iterable[Finding]) -> tuple[FindingKey, ...]:
    """Their keys, each once, in order."""
    return tuple(dict.fromkeys(f.key for f in findings))


def touches(subject: Subject, names: Collection[str]) -> bool:
    """Whether a subject is one of these nodes, or a rank or link of theirs."""
    return home(subject).name in names or (subject.kind == "link" and subject.to in names)


def waiting(findings: Findings, names: Collection[str]) -> tuple[FindingKey, ...]:
    """What could not be determined later on, of these nodes or of the whole, because they had to be left out."""
    return keys(
        f
        for f in findings
        if f.status is Status.UNKNOWN and area(f) in LATER and (f.subject == CLUSTER or touches(f.subject, names))
    )


def stopped(findings: Findings, names: Collection[str] = ()) -> tuple[FindingKey, ...]:
    """What ends on all ranks when one of them, or a message between them, never comes; `names` are at fault.

    Not what has causes of its own: another rank that was killed or stands still, another node that was left out, a
    result that is wrong, a loss that isn't finite.
    """
    return keys(f for f in findings if f.status in _BAD and _stops(f, names))


def _stops(f: Finding, names: Collection[str]) -> bool:
    unknown = f.status is Status.UNKNOWN
    if touches(f.subject, names):
        its_own = f.check in ("JOB001", "JOB002", "NOD002") or area(f) == "link"
        if its_own or (unknown and f.subject.kind in ("node", "rank")):
            return True
    elif unknown and f.subject != CLUSTER and f.check in ("COL001", "TRN001"):
        return False
    spread = ("COL001", "COL002", "COL004", "TRN001", "TRN003", "TRN004")
    return f.check in spread or (unknown and area(f) in LATER)


def unheard(findings: Findings, ports: Ports | None, names: Collection[str]) -> tuple[FindingKey, ...]:
    """Connections to these nodes that failed because nobody listened there, or nobody spoke."""
    found = []
    for f in findings:
        if ports and f.status in _BAD and f.check in ("NET001", "NET002") and f.subject.to in names:
            probes = [p for p in ports.probes(f.subject.name, f.subject.to) if not p.connected]
            if all(p.outcome == "mute" or not ports.listens(p.target, p.port) for p in probes):
                found.append(f)
    return keys(found)
