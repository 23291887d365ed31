"""What was read and in which order it failed; what could not be read or told, and what to collect next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from textwrap import shorten

from gonogo.diagnose.findings import FAULTS
from gonogo.diagnose.wishes import wishes
from gonogo.documents.folder import Read
from gonogo.facts.events import Event, Events
from gonogo.facts.objects import Objects
from gonogo.facts.skews import aligned, skews
from gonogo.model import Claim, Coverage, Diagnosis, Finding, Verdict
from gonogo.report.text import count
from gonogo.report.verdict import NOT_READ

NOT_SEEN = "not seen"
"""The text of the claims that say what the collector of a bundle could not have."""
LEAST_AHEAD_SECONDS = 0.1
"""Who is first by less than that was not first: clocks of nodes don't agree so well."""
SHOWN_MOVES = 8  # lines of the timeline in the report


def coverage_of(
    done: Read,
    events: Events,
    objects: Objects,
    verdict: Verdict,
    left: Sequence[Finding],
    ordered: Sequence[Diagnosis],
) -> Coverage:
    read = f"{count(done.files, 'file')}, {count(done.lines, 'line')} and {count(done.bytes, 'byte')} were read"
    proven = [Claim(read)]
    timeline = _timeline(events, ordered)
    proven += [*_first_mover(events, timeline), *_moves(timeline)]
    lost = [Claim(NOT_READ, reason=s) for s in done.notes.sentences()]
    if verdict is Verdict.DIAGNOSE_UNDECIDED:
        first = {f.check: f for f in reversed(left)}
        lost += [Claim(f"{f.check} on {f.subject} is not explained", reason=f.message) for f in first.values()]
        lost += [Claim("collect next", reason=wish) for wish in wishes(events, objects, [f.check for f in left])]
    lost += _fabric(events, objects)
    if done.interrupted:
        lost.append(Claim("the rest of the input", reason="reading was interrupted"))
    return Coverage(tuple(proven), tuple(lost))


def _timeline(events: Events, ordered: Iterable[Diagnosis]) -> tuple[Event, ...]:
    """What failed, by clock: lines of faults, and the exceptions that root causes cite."""
    faults = events.role(*FAULTS)
    cited = {(e.file, e.line) for d in ordered for e in d.evidence}
    raised = [e for e in events.of("python.exception").outside(Events(faults.timeline)) if (e.file, e.line) in cited]
    return aligned(Events((*faults, *raised)), skews(events))


def _first_mover(events: Events, timeline: Sequence[Event]) -> list[Claim]:
    """Who was first to fail by clock, and by how much before anybody else; nothing where only one speaks."""
    ahead = skews(events)
    others = [e for e in timeline if e.who.rank != timeline[0].who.rank or e.who.file != timeline[0].who.file]
    if not others or not timeline[0].when or not others[0].when:
        return []
    first, second = (e.when.seconds - ahead.get(e.file, 0.0) for e in (timeline[0], others[0]) if e.when)
    if second - first < LEAST_AHEAD_SECONDS:
        return []
    apart = max(map(abs, ahead.values()), default=0.0)
    clocks = f"; clocks differ by up to {apart:.0f} s, which is allowed for" if ahead else ""
    told = (
        f"First mover: {timeline[0].who} at {timeline[0].when}, {second - first:.1f} s before {others[0].who}{clocks}"
    )
    return [Claim(told)]


def _moves(timeline: Iterable[Event]) -> list[Claim]:
    """The first moves by clock: of each kind of line the first, and who else wrote one."""
    kinds: dict[str, list[Event]] = {}
    told = set[tuple[str, int]]()
    for event in timeline:
        if event.signature not in kinds and (event.file, event.line) in told:
            continue  # the same line once more, as another kind
        told.add((event.file, event.line))
        alike = kinds.setdefault(event.signature, [])
        if event.who not in [e.who for e in alike]:
            alike.append(event)
    moves = []
    for first, *others in list(kinds.values())[:SHOWN_MOVES]:
        also = f" (and {count(len(others), 'other')}, {_span(first, others[-1])})" if others else ""
        moves.append(Claim(f"{first.when} {first.who}{also}: {shorten(first.evidence.text, 160, placeholder=' …')}"))
    return moves


def _span(first: Event, last: Event) -> str:
    seconds = last.when.seconds - first.when.seconds if first.when and last.when else 0.0
    return f"within {seconds:.1f} s" if seconds >= LEAST_AHEAD_SECONDS else "at the same time"


def _fabric(events: Events, objects: Objects) -> list[Claim]:
    """That gradients go over TCP is right where nodes have nothing better, and slow where they do: nobody has said."""
    sockets = events.of("nccl.network").where(network=re.compile("^Socket"))
    between = events.of("nccl.via").where(network="Socket") or len(sockets.files) > 1
    if not sockets or not between or objects.of("Node"):
        return []
    where = f"{sockets.all[0].evidence.file}:{sockets.all[0].evidence.line}"
    text = f"NCCL uses TCP sockets ({where}); whether these nodes have EFA, `kubectl get nodes -o yaml` would tell"
    return [Claim("the right fabric", reason=f"{text}.")]
