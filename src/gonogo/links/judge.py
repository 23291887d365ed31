"""What pair measurements say: which node, link or direction is slower than its peers, or than what was promised.

A pair is as fast as the slower of its two nodes. So a node is known by its best pairs: a good node has some good
pair, a slow one has none. A pair that is slower than both of its nodes explain is a slow link, or a slow direction.

The threshold follows the noise that was measured. Below it nothing is said; what it could have hidden is reported.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

FLOOR = 0.05
"""A practical floor: a loss below 5 % is not worth a replacement, whatever its significance."""
CEILING = 0.75
"""However noisy the machine, a loss beyond this is called: noise is met by looking a second time."""
DEVIATIONS = 5.0
MORE_DEVIATIONS = 0.25
"""For each time that the directions are e times those among four nodes: of many, the worst is further off by chance."""
SCORE_NOISE = 0.7
"""A node's score is a mean of several pairs, the best ones: it varies that much less than one pair does."""
LEAST_PEERS = 3
"""With fewer there is nothing to compare with: A and B alone can't say which of them is slow."""

ENOUGH_PEERS = 8
"""From so many on, how nodes differ from each other is noise; of fewer, one slow node would pass for noise."""

TILT = 0.2
"""As a logarithm: from about 20 % on a difference that all pairs of a node share is the node's, and no noise."""

MOST_WAITED = 0.95
"""Of a slice with less of a CPU than this leaves nothing is known but that it was slow."""

KERNELS = 3.0
"""The kernel's own work for a link waits as its ends do, and nobody counts that: it may have lost as much again by it,
but no more than this factor."""

CALM = 0.2
"""So much of a slice may be spent waiting for a CPU."""
PEAK = 3

Direction = tuple[str, str]


@dataclass(frozen=True)
class Sample:
    """One measurement from source to target; greater is better (Gbit/s, or a reciprocal of seconds).

    `waits` is, slice by slice, the share of time in which an end could have worked and had no CPU.
    """

    source: str
    target: str
    value: float
    slices: tuple[float, ...] = ()
    waits: tuple[float, ...] = ()

    @property
    def estimate(self) -> float:
        """Upper quartile of the slices: what disturbs a measurement only ever slows it down, and not all the time."""
        return _upper_quartile(self.slices, self.value)

    @property
    def most(self) -> float:
        """The most that it can have lost to a busy CPU, given back: what was slow for want of a CPU is no slow link."""
        if len(self.waits) != len(self.slices):
            return self.estimate
        waits = (min(MOST_WAITED, max(0.0, wait)) for wait in self.waits)
        given_back = [
            value / (1 - wait) * min(KERNELS, 1 / (1 - wait)) for value, wait in zip(self.slices, waits, strict=True)
        ]
        return max(self.estimate, _upper_quartile(given_back, self.value))

    @property
    def noise(self) -> float:
        """Relative spread of the slices (1.4826 MAD / median)."""
        middle = statistics.median(self.slices) if len(self.slices) >= 4 else 0.0
        return _spread(self.slices) / middle if middle > 0 else 0.0


@dataclass(frozen=True)
class Verdict:
    """One that is slow. `way` is a node's: out (it sends slowly), in, or both; `loss` and `threshold` are fractions.

    `most` is what it might have carried had no end ever waited for a CPU, or what it did carry in its best moments.
    """

    kind: Literal["node", "link", "direction"]
    source: str
    target: str
    way: Literal["both", "out", "in"]
    measured: float
    expected: float
    threshold: float
    against: Literal["peers", "floor"]
    most: float

    @property
    def starved(self) -> bool:
        """Whether waiting for a CPU explains all that is missing."""
        return self.most >= self.expected * (1 - self.threshold)

    @property
    def loss(self) -> float:
        """What is missing of the expected value."""
        return 1.0 - self.measured / self.expected if self.expected > 0 else 0.0

    @property
    def margin(self) -> float:
        """How far beyond the threshold the loss is."""
        return self.loss - self.threshold


@dataclass(frozen=True)
class Judgement:
    """All verdicts, and what they rest on. `judged` is false where there was nothing to compare with."""

    judged: bool
    verdicts: tuple[Verdict, ...]
    expected: float  # of a healthy pair, from the peers
    noise: float  # relative standard deviation of one pair's value
    node_threshold: float  # the smallest loss of a node that this run could have seen
    link_threshold: float  # the smallest loss of a link, or of one direction
    margin: float  # how much more the worst of those in order could have lost and still be in order
    scores: Mapping[str, tuple[float, float]]  # node -> what it sends and receives at, at its best
    measured: int  # directions of pairs
    possible: int

    def suspects(self) -> list[str]:
        """The nodes that any verdict names, in order of name."""
        return sorted({name for v in self.verdicts for name in (v.source, v.target) if name})


def judge(
    nodes: Sequence[str], samples: Iterable[Sample], floor: float | None = None, least: float = FLOOR
) -> Judgement:
    """Judge nodes against each other, and against an absolute floor where one is given.

    Where a pair was measured more than once its best value counts: a fault is there each time, a disturbance is not.
    """
    samples = [s for s in samples if s.value > 0 and s.source in nodes and s.target in nodes]
    best: dict[Direction, float] = {}
    most: dict[Direction, float] = {}
    for sample in samples:
        key = sample.source, sample.target
        best[key] = max(best.get(key, 0.0), sample.estimate)
        most[key] = min(most.get(key, math.inf), sample.most)  # the look that was disturbed least says most
    peaks = _peaks(samples)
    most = {key: max(value, best[key], peaks.get(key, 0.0)) for key, value in most.items()}
    out = _scores(best, lambda d: d[0])
    into = _scores(best, lambda d: d[1])
    scores = {n: (out[n], into[n]) for n in nodes if n in out and n in into}
    comparable = len(scores) >= LEAST_PEERS
    expected = statistics.median_high([v for pair in scores.values() for v in pair]) if scores else 0.0
    noise = _noise(best, out, into, samples)
    logs = [math.log(v) for pair in scores.values() for v in pair]
    spread = _spread(logs) if len(scores) >= ENOUGH_PEERS else 0.0
    deviations = DEVIATIONS + MORE_DEVIATIONS * max(0.0, math.log(max(1, len(best)) / 12))
    for_nodes, for_links = (
        min(CEILING, max(least * deviations / DEVIATIONS, 1.0 - math.exp(-deviations * sigma)))
        for sigma in (max(SCORE_NOISE * noise, spread), noise)
    )
    bar = _Bar(expected if comparable else 0.0, for_nodes, for_links, floor or 0.0)
    slow = _nodes(best, scores, most, bar)
    verdicts = slow + _links(best, out, into, most, {v.source: v for v in slow}, bar)
    spare = [for_nodes - (1 - v / expected) for pair in scores.values() for v in pair]
    spare += [for_links - (1 - value / _expected_of(d, out, into)) for d, value in best.items()]
    return Judgement(
        comparable or floor is not None,
        tuple(verdicts),
        expected,
        noise,
        for_nodes,
        for_links,
        min((s for s in spare if s >= 0), default=1.0) if comparable else 1.0,
        scores,
        len(best),
        len(nodes) * (len(nodes) - 1),
    )


@dataclass(frozen=True)
class _Bar:
    """What a value is held against; 0 for a bar that isn't there."""

    expected: float
    for_nodes: float
    for_links: float
    floor: float

    def missed(self, value: float, expected: float, threshold: float) -> Literal["peers", "floor"] | None:
        if self.expected and value < expected * (1 - threshold):
            return "peers"
        return "floor" if value < self.floor else None

    def missed_by_node(self, value: float) -> Literal["peers", "floor"] | None:
        return self.missed(value, self.expected, self.for_nodes)

    def held(self, against: Literal["peers", "floor"], expected: float, threshold: float) -> tuple[float, float]:
        return (self.floor, 0.0) if against == "floor" else (expected, threshold)


def _peaks(samples: Iterable[Sample]) -> dict[Direction, float]:
    """What each direction carried in all looks at its third best slice, of those before which no end had waited.

    The kernel's own work for a link waits for a CPU, too, and no end's count shows it. But a slow link is slow all the
    time; what follows on a wait is left out, since it is what had piled up.
    """
    calm: dict[Direction, list[float]] = defaultdict(list)
    for sample in samples:
        if len(sample.waits) == len(sample.slices):
            waits = zip((1.0, *sample.waits), sample.waits, sample.slices, strict=False)
            calm[sample.source, sample.target] += [value for before, now, value in waits if max(before, now) <= CALM]
    return {key: sorted(values)[-PEAK] for key, values in calm.items() if len(values) >= PEAK}


def _upper_quartile(values: Sequence[float], otherwise: float) -> float:
    return statistics.quantiles(values, n=4)[2] if len(values) >= 4 else otherwise


def _scores(best: Mapping[Direction, float], end: Callable[[Direction], str]) -> dict[str, float]:
    """By node, the mean of the better half of its pairs, at least of one."""
    values: dict[str, list[float]] = defaultdict(list)
    for direction, value in best.items():
        values[end(direction)].append(value)
    return {name: statistics.fmean(sorted(v, reverse=True)[: max(1, len(v) // 2)]) for name, v in values.items()}


def _expected_of(direction: Direction, out: Mapping[str, float], into: Mapping[str, float]) -> float:
    return min(out[direction[0]], into[direction[1]])


def _noise(
    best: Mapping[Direction, float], out: Mapping[str, float], into: Mapping[str, float], samples: Sequence[Sample]
) -> float:
    """From three sides, the greatest counts: pairs against what their nodes do elsewhere, a direction against its
    reverse, and slices within a measurement. All are medians, so that a few slow pairs are no noise."""
    apart = [math.log(value / _expected_of(d, out, into)) for d, value in best.items()]
    both = {(a, b): math.log(value / best[b, a]) for (a, b), value in best.items() if (b, a) in best}
    tilt = _tilts(both)
    reverse = [(ratio - tilt.get(a, 0.0) + tilt.get(b, 0.0)) / math.sqrt(2) for (a, b), ratio in both.items()]
    within = statistics.median([s.noise for s in samples]) / 2 if samples else 0.0  # a quartile of many slices
    few = 1 + 6 / max(1, len(best))  # a spread of few values is uncertain itself
    return max(_spread(apart) * few, _spread(reverse) * few, within)


def _tilts(both: Mapping[Direction, float]) -> dict[str, float]:
    """Nodes that send faster or slower than they receive with all their partners, and by how much (logarithm)."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for (a, _), ratio in both.items():
        ratios[a].append(ratio)
    shared = {name: min(r, key=abs) for name, r in ratios.items() if len(r) > 1 and min(r) * max(r) > 0}
    return {name: value for name, value in shared.items() if abs(value) > TILT}


def _spread(values: Sequence[float]) -> float:
    """1.4826 MAD: the standard deviation, were the values normal."""
    if len(values) < 2:
        return 0.0
    middle = statistics.median(values)
    return 1.4826 * statistics.median([abs(v - middle) for v in values])


def _nodes(
    best: Mapping[Direction, float],
    scores: Mapping[str, tuple[float, float]],
    most: Mapping[Direction, float],
    bar: _Bar,
) -> list[Verdict]:
    """A node is named only if it is slow with two partners: of one pair alone nobody can say which end it is."""
    partners: dict[str, set[str]] = defaultdict(set)
    for a, b in best:
        partners[a].add(b)
        partners[b].add(a)
    found = []
    most_out, most_in = _scores(most, lambda d: d[0]), _scores(most, lambda d: d[1])
    for name, (sent, received) in scores.items():
        missed_out, missed_in = bar.missed_by_node(sent), bar.missed_by_node(received)
        if len(partners[name]) < 2 or not (missed_out or missed_in):
            continue
        way: Literal["both", "out", "in"] = "both" if missed_out and missed_in else "out" if missed_out else "in"
        measured = {"both": max(sent, received), "out": sent, "in": received}[way]
        at_most = {"both": max(most_out[name], most_in[name]), "out": most_out[name], "in": most_in[name]}[way]
        against = bar.missed_by_node(measured) or "peers"
        held = bar.held(against, bar.expected, bar.for_nodes)
        found.append(Verdict("node", name, "", way, measured, *held, against, at_most))
    return found


def _links(
    best: Mapping[Direction, float],
    out: Mapping[str, float],
    into: Mapping[str, float],
    most: Mapping[Direction, float],
    slow: Mapping[str, Verdict],
    bar: _Bar,
) -> list[Verdict]:
    missed: dict[Direction, Literal["peers", "floor"]] = {}
    for (a, b), value in best.items():
        if any(name in slow and slow[name].way in ("both", way) for name, way in ((a, "out"), (b, "in"))):
            continue  # the node explains it
        # against all peers, too: the scores of two nodes that only met each other are this pair's own value
        own = max(_expected_of((a, b), out, into), bar.expected)
        against = bar.missed(value, own, bar.for_links)
        if against is not None:
            missed[a, b] = against
    found = []
    for (a, b), against in missed.items():
        own = max(_expected_of((a, b), out, into), bar.expected)
        both = (b, a) in missed
        if both and a > b:
            continue
        ways = [(a, b), (b, a)] if both else [(a, b)]
        measured, at_most = max(best[d] for d in ways), max(most[d] for d in ways)
        kind: Literal["link", "direction"] = "link" if both else "direction"
        held = bar.held(against, own, bar.for_links)
        found.append(Verdict(kind, a, b, "both" if both else "out", measured, *held, against, at_most))
    return found
