"""What checks of storage share: one finding a node, over all its paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gonogo.facts.storage import PathProbe, Storage
from gonogo.model import CLUSTER, Evidence, Finding, Status, Value


@dataclass(frozen=True, slots=True)
class Said:
    """What is to be said of one path on one node; the text has no period."""

    status: Status
    text: str
    evidence: tuple[Evidence, ...] = ()
    measured: Value = None
    expected: Value = None
    unit: str = ""
    source: str = ""


def judge(storage: Storage, say: Callable[[PathProbe], Said | None], waits: bool = True) -> Iterator[Finding]:
    """The worst path decides, and is told first; None: it did not come to that on this path, which is unknown.

    `waits`: where no node looked, this check leaves it to STO001 to say why.
    """
    looked = {subject: entry for subject, entry in storage.present.items() if entry.paths}
    if not looked and waits:
        yield Finding(Status.UNKNOWN, CLUSTER, "No node looked at storage (waits for STO001).")
    for subject, entry in looked.items():
        told = [say(p) or Said(Status.UNKNOWN, _not_reached(p)) for p in entry.paths]
        told.sort(key=lambda s: -s.status.severity)
        worst = told[0]
        yield Finding(
            worst.status,
            subject,
            " ".join(f"{s.text}." for s in told),
            worst.measured,
            worst.expected,
            worst.unit,
            worst.source,
            tuple(e for s in told for e in s.evidence),
        )


def _not_reached(probe: PathProbe) -> str:
    if probe.is_missing:
        return f"{probe.node} could not try {probe.path}, which does not exist there"
    why = f": {refusal.op} failed with {refusal.errno or refusal.text}" if (refusal := probe.refused()) else ""
    return f"{probe.node} did not come to it on {probe.path}{why}"
