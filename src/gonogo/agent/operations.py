"""The collectives as data: what each rank gives, what it must get, and how to tell exactly whether it did.

Every rank gives integers that the type holds exactly, also summed: value i of rank r is (i · (r + 1)) mod m + 1. Ranks
differ, so a missing or doubled rank shows; the period m is a prime, so data that land a power of two away show as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist

from gonogo.agent.group import Group

EXACT = {torch.float32: 1 << 24, torch.bfloat16: 1 << 8, torch.int64: 1 << 62}  # integers up to this are exact
MOST_SUMS = 16  # wrong ones that are looked at: each leaves half of the ranks
PRIMES = (16381, 4093, 1021, 251, 61, 31, 13, 7, 3, 2, 1)


def largest_group(dtype: Any) -> int:
    """Up to how many ranks a sum in this type can be told right from wrong."""
    return EXACT[dtype] // 2


@dataclass(frozen=True)
class Segment:
    """A part of the result: `count` values from `begin` are those of `source`, counted from its value `start`."""

    begin: int
    count: int
    source: int | None  # a rank, or None: the sum over all ranks
    start: int = 0


@dataclass(frozen=True)
class Operation:
    """One collective on a buffer of n elements in all, of which a share is n / ranks."""

    call: Callable[[Any, Any, Group], object]  # given, result, group
    expected: Callable[[Group, int], list[Segment]]
    in_place: bool = False  # the result takes the place of what was given
    gives_share: bool = False
    gets_share: bool = False
    least_ranks: int = 1

    @property
    def sharded(self) -> bool:
        """Whether n must be a multiple of the ranks."""
        return self.gives_share or self.gets_share or self is OPERATIONS["all_to_all"]


def _whole(source: int | None) -> Callable[[Group, int], list[Segment]]:
    return lambda group, n: [Segment(0, n, source)]


def _from_each(group: Group, n: int) -> list[Segment]:
    share = n // group.size
    return [Segment(rank * share, share, rank) for rank in range(group.size)]


def _own_part_of_each(group: Group, n: int) -> list[Segment]:
    share = n // group.size
    return [Segment(rank * share, share, rank, group.rank * share) for rank in range(group.size)]


def _own_part_of_sum(group: Group, n: int) -> list[Segment]:
    share = n // group.size
    return [Segment(0, share, None, group.rank * share)]


def _from_left(group: Group, n: int) -> list[Segment]:
    return [Segment(0, n, (group.rank - 1) % group.size)]


def _shift_right(given: Any, result: Any, group: Group) -> None:
    right, left = (group.rank + 1) % group.size, (group.rank - 1) % group.size
    both = [dist.P2POp(dist.isend, given, right), dist.P2POp(dist.irecv, result, left)]
    for work in dist.batch_isend_irecv(both):
        work.wait()


def _all_gather(given: Any, result: Any, group: Group) -> None:
    gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor  # the name before torch 2.13
    gather(result, given)


def _reduce_scatter(given: Any, result: Any, group: Group) -> None:
    scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    scatter(result, given)


# Functions of torch are looked up at the call, not here: so that what runs is what any other code in the process gets.
OPERATIONS = {
    "all_reduce": Operation(lambda given, _, __: dist.all_reduce(given), _whole(None), in_place=True),
    "broadcast": Operation(lambda given, _, __: dist.broadcast(given, 0), _whole(0), in_place=True),
    "all_gather": Operation(_all_gather, _from_each, gives_share=True),
    "reduce_scatter": Operation(_reduce_scatter, _own_part_of_sum, gets_share=True),
    "all_to_all": Operation(lambda given, result, _: dist.all_to_all_single(result, given), _own_part_of_each),
    "send_recv": Operation(_shift_right, _from_left, least_ranks=2),
    "barrier": Operation(lambda _, __, ___: dist.barrier(), lambda group, n: [], in_place=True),
}


@dataclass
class Pattern:
    """What each rank gives and what the sum over all is, as one period each."""

    dtype: Any
    group: Group
    _periods: dict[int | None, Any] = field(default_factory=dict)

    @property
    def modulus(self) -> int:
        """The largest for which the sum over all ranks is exact in this type."""
        return next(prime for prime in PRIMES if prime * self.group.size <= EXACT[self.dtype] or prime == 1)

    def period(self, source: int | None) -> Any:
        """One period of a rank's values, or of their sum."""
        if source not in self._periods:
            index = torch.arange(self.modulus, dtype=torch.int64)
            ranks = range(self.group.size) if source is None else [source]
            values = sum((index * (rank + 1) % self.modulus + 1 for rank in ranks), torch.zeros_like(index))
            self._periods[source] = values.to(self.dtype).to(self.group.device)
        return self._periods[source]

    def fill(self, out: Any, source: int | None, start: int) -> None:
        """Write a rank's values, from its value `start` on."""
        for part, values in _parts(self.period(source), out, start):
            part.copy_(values)

    def compare(self, out: Any, source: int | None, start: int) -> tuple[int, float]:
        """How many values differ from the exact ones, and by how much at most."""
        wrong, greatest = 0, 0.0
        for part, values in _parts(self.period(source), out, start):
            count = int((part != values).sum())  # a NaN differs from everything, as it should
            if count:
                wrong += count
                greatest = max(greatest, float((part.double() - values.double()).abs().max()))
        return wrong, greatest

    def suspects(self, out: Any, start: int) -> set[int]:
        """The ranks of which one flipped bit in what they gave explains every wrong float32 sum; maybe none.

        Each sum leaves about half of the ranks: a bit that is set can only be cleared. Several sums tell which it was.
        """
        everyone = set(range(self.group.size))
        if self.dtype is not torch.float32:
            return everyone
        found, places = set(everyone), torch.arange(len(out), device=out.device)
        exact = self.period(None)[(places + start) % self.modulus]
        for place in (out != exact).nonzero().flatten()[:MOST_SUMS].tolist():
            change = float(out[place].double() - exact[place].double())
            found &= {r for r in everyone if _one_bit(self.period(r)[(place + start) % self.modulus], change)}
        return found


def _one_bit(given: Any, change: float) -> bool:
    """Whether one flipped bit of a float32 changes it by that much, as far as a sum can show."""
    masks = torch.tensor([1 << bit for bit in range(31)] + [-(1 << 31)], dtype=torch.int32)
    flipped = (given.cpu().view(torch.int32) ^ masks).view(torch.float32).double()
    return bool(((flipped - float(given) - change).abs() <= 1e-6 * abs(change)).any())


def _parts(period: Any, out: Any, start: int) -> list[tuple[Any, Any]]:
    """The buffer as rows of one period and a rest, each with its values: nothing as large as the buffer is made."""
    rolled = period.roll(-(start % len(period)))
    rows = len(out) // len(period)
    whole = rows * len(period)
    return [(out[:whole].view(rows, len(period)), rolled), (out[whole:], rolled[: len(out) - whole])]


class Buffers:
    """What one call gives and gets, filled and checked."""

    def __init__(self, operation: Operation, pattern: Pattern, elements: int) -> None:
        self._operation, self._pattern, self._group, self._elements = operation, pattern, pattern.group, elements
        share = elements // self._group.size
        self._given = self._empty(share if operation.gives_share else elements)
        self._result = self._given if operation.in_place else self._empty(share if operation.gets_share else elements)

    def _empty(self, elements: int) -> Any:
        return torch.empty(elements, dtype=self._pattern.dtype, device=self._group.device)

    def fill(self, salt: int) -> None:
        """New values for each call, and a result of none: an old one left in place would pass for right."""
        if self._result is not self._given:
            self._result.fill_(-1)
        self._pattern.fill(self._given, self._group.rank, salt)

    def call(self) -> None:
        """Do it; a GPU may still be at work when this returns."""
        self._operation.call(self._given, self._result, self._group)

    def suspects(self, salt: int) -> set[int]:
        """Whose data may have made the sums wrong: every rank where nothing is wrong or can't be told."""
        found = set(range(self._group.size))
        for segment in self._operation.expected(self._group, self._elements):
            if segment.source is None:
                part = self._result[segment.begin : segment.begin + segment.count]
                found &= self._pattern.suspects(part, segment.start + salt)
        return found

    def check(self, salt: int) -> list[tuple[int | None, int, float]]:
        """(whose data, None for all ranks' sum; values that differ; the greatest difference) where any differs."""
        found = []
        for segment in self._operation.expected(self._group, self._elements):
            part = self._result[segment.begin : segment.begin + segment.count]
            wrong, greatest = self._pattern.compare(part, segment.source, segment.start + salt)
            if wrong:
                found.append((segment.source, wrong, greatest))
        return found
