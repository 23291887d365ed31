"""From evidence to a diagnosis: how sure it is follows from how many kinds of source agree."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gonogo.facts.events import Events
from gonogo.model import CLUSTER, Certainty, Diagnosis, Evidence, FindingKey, Repair, Subject

_NAME = re.compile(r"[a-z0-9]+(?:[-.][a-z0-9]+)+")
"""How pods and nodes are called; a bare word is more likely a file's."""
SHOWN = 4  # lines of one kind of evidence
Proof = Events | Evidence | Iterable[Evidence] | None


def diagnosis(
    cause: str,
    summary: str,
    *proofs: Proof,
    repair: Repair,
    commands: Iterable[str] = (),
    subjects: Iterable[Subject] = (),
    explains: Events | None = None,
    contradicts: Iterable[Evidence] = (),
    next_observation: str = "",
    certainty: Certainty | None = None,
) -> Diagnosis:
    """A diagnosis with its evidence in the order of the proofs, the first of each before the second of any.

    Established: proofs from two files at least. Supported: from one. What the events of the proofs and `explains` say
    is explained by it.
    """
    told = [tuple(_evidence(p)) for p in proofs]
    evidence = tuple(dict.fromkeys(e for turn in _turns(told) for e in turn))
    events = [e for p in (*proofs, explains) if isinstance(p, Events) for e in p]
    if certainty is None:
        settled = len({e.file for e in evidence}) > 1
        certainty = Certainty.ESTABLISHED if settled else Certainty.SUPPORTED
    who = tuple(dict.fromkeys(subjects)) or tuple(dict.fromkeys(e.subject for e in events)) or (CLUSTER,)
    pods = [Subject("pod", e.who.pod) for e in events if e.who.pod]
    commands = _filled(commands, (*who, *pods))
    return Diagnosis(
        cause, certainty, summary, who, evidence,
        tuple(dict.fromkeys(FindingKey(e.signature, e.subject) for e in events)),
        tuple(contradicts), repair, commands, next_observation,
    )  # fmt: skip


def _filled(commands: Iterable[str], who: tuple[Subject, ...]) -> tuple[str, ...]:
    """Commands with the pod and node that the evidence is of, where a command has a place for them."""
    filled = []
    for command in commands:
        for kind in ("pod", "node"):
            name = next((s.name for s in who if s.kind == kind and _NAME.fullmatch(s.name)), "")
            command = command.replace(f"<{kind}>", name) if name else command
        filled.append(command)
    return tuple(dict.fromkeys(filled))


def _evidence(proof: Proof) -> Iterable[Evidence]:
    if proof is None:
        return ()
    if isinstance(proof, Events):
        files: dict[str, int] = {}
        shown: list[Evidence] = []
        for event in proof:
            files[event.file] = files.get(event.file, 0) + 1
            if files[event.file] <= SHOWN and len(shown) < 2 * SHOWN:
                shown.append(event.evidence)
        return shown
    return (proof,) if isinstance(proof, Evidence) else proof


def _turns(told: list[tuple[Evidence, ...]]) -> Iterable[list[Evidence]]:
    longest = max((len(t) for t in told), default=0)
    return [[t[i] for t in told if i < len(t)] for i in range(longest)]
