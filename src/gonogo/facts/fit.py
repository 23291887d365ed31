"""Numbers behind collectives: busbw, what physics allows, and latency and bandwidth from a sweep of sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

GB = 1e9  # busbw is in GB/s, as nccl-tests prints it


@dataclass(frozen=True)
class Fit:
    """T(S) = α + S/β: a call costs α seconds at least, and moves β bytes a second at most."""

    alpha_seconds: float
    beta_bytes_per_second: float  # inf if time does not grow with size
    residual: float  # root mean square of (measured − fitted) / measured: 0.1 means 10 % off, typically

    @property
    def half_bandwidth_bytes(self) -> float:
        """The size at which half of the bandwidth is reached."""
        return self.alpha_seconds * self.beta_bytes_per_second

    def seconds(self, size: float) -> float:
        """What a call of that many bytes should take."""
        return self.alpha_seconds + size / self.beta_bytes_per_second


def fit(points: Iterable[tuple[float, float]]) -> Fit | None:
    """Fit (bytes, seconds) by least squares of *relative* errors; None with fewer than two different sizes.

    Sizes span five decades. Unweighted, the largest size alone would decide and α be noise around it; with weights of
    1/T² each size counts alike. Neither α nor 1/β can be negative: where the best line has one below zero, the best
    line with that one at zero is taken.
    """
    measured = [(size, seconds) for size, seconds in points if seconds > 0]
    if len({size for size, _ in measured}) < 2:
        return None
    weights = [1 / seconds**2 for _, seconds in measured]
    total = sum(weights)
    size_mean = sum(w * size for w, (size, _) in zip(weights, measured, strict=True)) / total
    seconds_mean = sum(w * seconds for w, (_, seconds) in zip(weights, measured, strict=True)) / total
    # About the means: the plain normal equations lose all digits when sizes and times span many decades.
    spread = sum(w * (size - size_mean) ** 2 for w, (size, _) in zip(weights, measured, strict=True))
    both = sum(w * (size - size_mean) * (t - seconds_mean) for w, (size, t) in zip(weights, measured, strict=True))
    slope = both / spread
    alpha = seconds_mean - slope * size_mean
    if slope < 0:
        alpha, slope = seconds_mean, 0.0
    elif alpha < 0:
        squares = sum(w * size**2 for w, (size, _) in zip(weights, measured, strict=True))
        alpha, slope = 0.0, sum(w * size * t for w, (size, t) in zip(weights, measured, strict=True)) / squares
    errors = [1 - (alpha + slope * size) / seconds for size, seconds in measured]
    residual = math.sqrt(sum(error * error for error in errors) / len(errors))
    return Fit(alpha, 1 / slope if slope > 0 else math.inf, residual)


def busbw_factor(op: str, ranks: int) -> float:
    """busbw / algbw, where algbw is the size of the whole buffer by the time; 0 for ops that move no data.

    It makes ops and rank counts comparable with the speed of the links. Source: nccl-tests, doc/PERFORMANCE.md.
    """
    if op == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if op in ("all_gather", "reduce_scatter", "all_to_all"):
        return (ranks - 1) / ranks
    if op in ("broadcast", "reduce", "send_recv"):
        return 1.0
    if op == "barrier":
        return 0.0
    raise ValueError(f"no bus bandwidth is defined for {op!r}")


def busbw(op: str, size: int, seconds: float, ranks: int) -> float:
    """Bus bandwidth in GB/s of one call over a buffer of `size` bytes; for all_gather that is the gathered one."""
    return size / seconds * busbw_factor(op, ranks) / GB if seconds > 0 else 0.0


def busbw_bound(link_gbps: float, nodes: int, ranks: int) -> float:
    """The greatest busbw of an all_reduce in GB/s that the nodes' links allow: B·n/(n−1)·(N−1)/N.

    `link_gbps` is what one node sends, Gbit/s. Ranks of a node reduce among themselves first, so on few nodes with many
    ranks each busbw may exceed the link. One node has no such bound: inf.
    """
    if nodes < 2:
        return math.inf
    return link_gbps / 8 * nodes / (nodes - 1) * (ranks - 1) / ranks
