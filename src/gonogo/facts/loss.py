"""What links had to send again."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from gonogo.documents.records import LinksLog, Record
from gonogo.facts.fields import records, text, whole
from gonogo.facts.links import LinkRun, Links, Throughput
from gonogo.kernel import parser
from gonogo.model import Subject

LOSSY = 0.01
"""Of all segments. Healthy links stay below 0.3 % on a machine with CPUs; 1 % halves what TCP carries over a distance.
"""
BUSY = 0.25
"""Of the time in which an end could have worked, the share without a CPU from which on its kernel drops segments."""
LOSSY_WHEN_BUSY = 0.03
"""Healthy links stay below 1.1 % between ends that wait for a CPU half of the time."""

LEAST_RESENT = 20

USUAL_MSS = 1448


@dataclass(frozen=True, slots=True)
class Loss:
    """Of the streams of one direction, all together."""

    resent: int
    segments: int
    worst: Throughput
    waits: float = 0.0  # of the time, the median share in which an end had no CPU

    @property
    def ratio(self) -> float:
        """The part of all segments that had to be sent again."""
        return self.resent / max(1, self.segments)

    @property
    def bar(self) -> float:
        """The ratio from which on it is too much."""
        return LOSSY if self.waits < BUSY else LOSSY_WHEN_BUSY

    @property
    def is_lossy(self) -> bool:
        """Whether that is too much, of segments enough to say so."""
        return self.ratio >= self.bar and self.resent >= LEAST_RESENT

    @property
    def is_doubtful(self) -> bool:
        """Whether it would be too much, had its ends not been busy."""
        return not self.is_lossy and self.ratio >= LOSSY and self.resent >= LEAST_RESENT

    @property
    def is_clear(self) -> bool:
        """Whether there were segments enough to say that it is none."""
        return self.ratio < LOSSY and self.segments * LOSSY >= LEAST_RESENT


@dataclass(frozen=True, slots=True)
class Damage:
    """Segments that came to a node with wrong checksums, so that they were lost as if they had never come."""

    segments: int
    record: Record


@dataclass(frozen=True, slots=True)
class Losses:
    """Directed link -> its loss, without links on which nothing was streamed; node -> what came to it damaged."""

    links: Mapping[Subject, Loss]
    damage: Mapping[str, Damage]


@parser
def losses(links: Links, log: LinksLog) -> Losses:
    """The sender's count of segments that it sent again, which comes with each stream."""
    told = [(r, whole(r, "segments") or 0) for r in records(log, "links", "damaged")]
    return Losses(_losses(links), {text(r, "node"): Damage(count, r) for r, count in told if count > 0})


def _losses(links: Links) -> dict[Subject, Loss]:
    return {s: loss for s, run in links.present.items() if (loss := _loss(run, _mss(s, links)))}


def _mss(subject: Subject, links: Links) -> int:
    """Bytes of a segment on a link: as its messages say; of one that was only streamed on, the least of its ends'."""
    ends, near = {subject.name, subject.to}, list[int]()
    for other, run in links.present.items():
        told = [m.mss for m in run.messages if m.mss]
        if told and other == subject:
            return told[0]
        near += told if ends & {other.name, other.to} else ()
    return min(near, default=USUAL_MSS)


def _loss(run: LinkRun, mss: int) -> Loss | None:
    told = [t for t in run.throughputs if t.retransmits is not None and whole(t.record, "bytes")]
    if not told:
        return None
    segments = sum((whole(t.record, "bytes") or 0) // mss for t in told)
    waits = statistics.median([wait for t in told for wait in t.waits] or [0.0])
    return Loss(sum(t.retransmits or 0 for t in told), segments, max(told, key=lambda t: t.retransmits or 0), waits)
